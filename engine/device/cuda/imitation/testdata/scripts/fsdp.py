"""FSDP2 over NCCL: a rank holds its part of the weights. Alone it is one process of 64."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, _fully_shard, fully_shard

WIDTH, LAYERS = 512, 4


def join():
    if "RANK" in os.environ:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    else:
        torch.cuda.set_device(0)
        dist.init_process_group("nccl", rank=0, world_size=64, store=dist.HashStore())


join()
world = dist.get_world_size()
model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.GELU()) for _ in range(LAYERS)])
weights = sum(p.numel() * 4 for p in model.parameters())
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for block in model:
    fully_shard(block, mp_policy=policy)
fully_shard(model, mp_policy=policy)
model = model.cuda()
held = sum(p.to_local().untyped_storage().nbytes() for p in model.parameters())
assert held == weights // world, (held, weights)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(8, WIDTH, device="cuda")).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
state = sum(t.to_local().nbytes for s in optimizer.state.values() for t in s.values() if t.dim())
assert state == 2 * held, (state, held)
if hasattr(common := _fully_shard._fsdp_common, "ShardPlacementResult"):  # one module over two meshes, as with experts
    mesh = common.FSDPMeshInfo(init_device_mesh("cuda", (world, 1), mesh_dim_names=("a", "b"))["b"], 0)
    own, module = common.ShardPlacementResult(common.Shard(0), mesh), nn.Linear(WIDTH, WIDTH)
    fully_shard(module, shard_placement_fn=lambda p: own if p.dim() == 1 else None).cuda()
    module(torch.randn(8, WIDTH, device="cuda")).sum().backward()
print(f"rank {dist.get_rank()} of {world}: weights {held}, peak {torch.cuda.max_memory_allocated()}")
dist.destroy_process_group()
