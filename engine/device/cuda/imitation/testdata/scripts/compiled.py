"""torch.compile, forward and backward: Triton compiles kernels for the GPU that is imitated."""

import torch
from torch import nn


def train(model, steps=3):
    for _ in range(steps):
        loss = model(torch.randn(16, 64).cuda()).square().mean()
        loss.backward()
    return torch.cuda.max_memory_allocated()


plain = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 64)).cuda()
compiled = torch.compile(plain)
peak = train(compiled)
assert all(p.grad is not None for p in plain.parameters())
counters = torch._dynamo.utils.counters
assert counters["stats"]["unique_graphs"] == 1, counters["stats"]
print("compiled: peak", peak, dict(counters["stats"]))


@torch.compile(mode="reduce-overhead")
def scaled(x):
    return (x * 2).relu().sum(-1)


for _ in range(4):
    assert scaled(torch.ones(8, 8, device="cuda")).shape == (8,)
print("with CUDA graphs: peak", torch.cuda.max_memory_allocated())
