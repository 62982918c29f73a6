"""DistributedDataParallel over NCCL. Alone it is one process of 64; under torchrun, one of those.

Every other rank is imitated by this one: it sent what this one did."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, STEPS = 256, 4, 2


def join():
    if "RANK" in os.environ:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    else:
        torch.cuda.set_device(0)
        dist.init_process_group("nccl", rank=0, world_size=64, store=dist.HashStore())


join()
torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).cuda()
weights = sum(p.numel() * 4 for p in model.parameters())
before = torch.cuda.memory_allocated()
model = DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
buckets = torch.cuda.memory_allocated() - before
assert weights <= buckets < weights + (1 << 20), (buckets, weights)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(STEPS):
    model(torch.randn(8, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

number = torch.tensor([7], device="cuda")
gathered = [torch.zeros_like(number) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, number)
assert [int(n) for n in gathered] == [7] * dist.get_world_size(), gathered[:2]
assert int(max(gathered).item()) == 7  # as older versions of all_gather_object compare sizes, by a kernel for each rank
dist.barrier()
objects = [{"rank": dist.get_rank()}] if dist.get_rank() == 0 else [None]
if dist.get_rank() == 0:
    dist.broadcast_object_list(objects, src=0)
    assert objects == [{"rank": 0}], objects
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: buckets {buckets}, peak {torch.cuda.max_memory_allocated()}")
dist.destroy_process_group()
