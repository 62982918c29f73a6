"""Gradient accumulation by adding losses: the graphs of all eight parts wait for the one backward pass."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    total = 0
    for _ in range(8):
        loss = model(torch.randn(1024, 512, device="cuda")).square().mean() / 8
        if fix:
            loss.backward()
        else:
            total = total + loss
    if not fix:
        total.backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated())
