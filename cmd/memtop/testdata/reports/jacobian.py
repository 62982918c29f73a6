"""The Jacobian of a network of 1,024 outputs: all of its rows are computed at once."""

import sys

import torch
from torch import nn

options = {"chunk_size": 64} if "fix" in sys.argv else {}
net = nn.Sequential(nn.Linear(1024, 4096), nn.Tanh(), nn.Linear(4096, 4096), nn.Tanh(), nn.Linear(4096, 1024)).cuda()
net.requires_grad_(False)
jacobian = torch.func.jacrev(net, **options)
for _ in range(4):
    rows = jacobian(torch.randn(1024, device="cuda"))
    print(rows.shape)
print(torch.cuda.max_memory_allocated())
