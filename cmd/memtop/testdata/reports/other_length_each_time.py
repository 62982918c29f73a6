"""Batches of another length each time: blocks of the last one fit nothing that comes later."""

import os
import sys

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:" + str("fix" in sys.argv)

import torch
from torch import nn

model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(24):
    length = 3000 + 331 * i
    model(torch.randn(length, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
