"""An image is made by L-BFGS, which keeps the steps and gradients of its last 100 iterations."""

import sys

import torch
from torch import nn

image = nn.Parameter(torch.randn(1, 3, 1024, 1024, device="cuda"))
wanted = torch.randn(1, 16, 1024, 1024, device="cuda")
features = nn.Conv2d(3, 16, 3, padding=1).cuda().requires_grad_(False)
options = {"history_size": 5} if "fix" in sys.argv else {}
optimizer = torch.optim.LBFGS([image], max_iter=1, tolerance_grad=-1, tolerance_change=-1, **options)


def closure():
    optimizer.zero_grad()
    loss = (features(image) - wanted).square().mean()
    loss.backward()
    return loss


for _ in range(40):
    optimizer.step(closure)
print(torch.cuda.max_memory_allocated())
