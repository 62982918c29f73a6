"""A diffusion model samples; its result is the input of the next step and is never detached, so all steps are kept."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
net = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1),
    nn.GELU(),
    nn.Conv2d(64, 64, 3, padding=1),
    nn.GELU(),
    nn.Conv2d(64, 3, 3, padding=1),
)
net = net.cuda().eval()
x = torch.randn(8, 3, 128, 128, device="cuda")
for i in range(20, 0, -1):
    noise = torch.randn(x.shape, device="cuda") if i > 1 else 0
    x = 0.9 * (x - 0.1 * net(x)) + 0.05 * noise
    if fix:
        x = x.detach()
print(x.shape, torch.cuda.max_memory_allocated())
