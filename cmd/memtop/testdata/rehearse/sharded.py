"""A model whose parameters are divided among ranks: what rehearsals of ranks are tested with."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
with torch.device("meta"):
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(8)])
for layer in model:
    fully_shard(layer)
fully_shard(model)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(100):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
