"""A model is sharded as one unit: all weights are gathered at once, and stay until backward has ended."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

fix = "fix" in sys.argv
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)]).cuda()
if fix:
    for layer in model:
        fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(rank, torch.cuda.max_memory_allocated(), flush=True)
