"""Gradients of the last step are there through the evaluation: only the next step sets them to None."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(12)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
    if fix:
        optimizer.zero_grad()
    with torch.no_grad():
        for _ in range(2):
            model(torch.randn(16384, 2048, device="cuda")).square().mean().item()
print(torch.cuda.max_memory_allocated())
