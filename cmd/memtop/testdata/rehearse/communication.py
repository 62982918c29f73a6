"""Ranks exchange gradients, weights and results. At its peak the program counts what PyTorch's own objects hold for that.

python communication.py sharded|kept|split|views: FSDP2 beside DistributedDataParallel, the same with weights that stay
gathered, tensor parallelism, and buckets that are the gradients."""

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

how, WIDTH, LAYERS = sys.argv[1], 256, 6
dist.init_process_group("nccl")
torch.cuda.set_device(0)


def count(communication, gathered):
    """Say what there is, and have the peak here."""
    storages = {s.data_ptr(): s.nbytes() for s in (t.untyped_storage() for t in communication)}
    whole = {s.data_ptr(): s.nbytes() for s in (t.untyped_storage() for t in gathered)}
    buckets = map(int, parallel._get_ddp_logging_data()["bucket_sizes"].split(", "))
    said = {
        "communication": sum(storages.values()),
        "gathered-parameter": sum(whole.values()),
    }
    name = "gradient" if how == "views" else "communication"
    said[name] = said.get(name, 0) + sum(buckets)
    del storages, whole
    torch.empty(40 << 20, dtype=torch.uint8, device="cuda")
    print(json.dumps(said), flush=True)


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if last:
            groups = [m._get_fsdp_state()._fsdp_param_group for m in model]
            context = groups[0].comm_ctx  # of all
            sent = [state.reduce_scatter_input for state in context.reduce_scatter_states]
            results = [g._all_gather_result for g in groups] + [
                getattr(context.all_gather_state, "all_gather_result", None)
            ]
            whole = [t for g in groups for p in g.fsdp_params for t in p.all_gather_outputs]
            count(sent + [r.all_gather_output for r in results if r is not None], whole)
        return gradient


class Layer(nn.Module):
    def __init__(self, counts):
        super().__init__()
        self.up, self.down, self.counts = (
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.Linear(4 * WIDTH, WIDTH),
            counts,
        )

    def forward(self, x):
        x = x + self.down(self.up(x).relu())
        return Counted.apply(x) if self.counts else x


def layers():
    counted = LAYERS - 1 if how == "kept" else LAYERS // 2  # in backward
    return nn.Sequential(*[Layer(how != "split" and i == counted) for i in range(LAYERS)]).cuda()


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    model(torch.randn(96, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


last = False
parallel = DistributedDataParallel(nn.Linear(WIDTH, 4 * WIDTH).cuda(), gradient_as_bucket_view=how == "views")
for _ in range(3):
    train(parallel)
if how == "views":
    count([], [])
    sys.exit()
model = layers()
for layer in model:
    if how == "split":
        mesh = init_device_mesh("cuda", (dist.get_world_size(),))
        parallelize_module(layer, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    else:
        fully_shard(layer, reshard_after_forward=how != "kept")
if how != "split":
    fully_shard(model)
train(model)
last = True
if how == "split":
    model[2].down.register_forward_hook(lambda module, inputs, out: count([getattr(out, "elem", out)], []))
train(model)
