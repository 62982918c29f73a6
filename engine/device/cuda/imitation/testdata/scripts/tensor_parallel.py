"""Tensor parallelism: a rank holds its columns and rows of a block's layers."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH, LAYERS = 512, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
world = int(os.environ["WORLD_SIZE"])
mesh = init_device_mesh("cuda", (world,))
model = nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda()
weights = sum(p.nbytes for p in model.parameters())
for block in model:
    parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
held = sum(p.to_local().nbytes for p in model.parameters())
assert held == weights // world, (held, weights)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(8, WIDTH, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
state = sum(t.to_local().nbytes for s in optimizer.state.values() for t in s.values() if t.dim())
assert state == 2 * held, (state, held)
print(f"rank {dist.get_rank()} of {world}: weights {held}, peak {torch.cuda.max_memory_allocated()}")
dist.destroy_process_group()
