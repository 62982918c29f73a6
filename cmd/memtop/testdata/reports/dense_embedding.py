"""A table of 600,000 rows, of which a batch reads 4,096: its gradient and Adam's temporaries have all rows."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
items = nn.Embedding(600_000, 128, sparse=fix).cuda()
head = nn.Linear(128, 1).cuda()
optimizers = [
    (torch.optim.SparseAdam if fix else torch.optim.Adam)(items.parameters(), lr=1e-3),
    torch.optim.Adam(head.parameters(), lr=1e-3),
]
for _ in range(5):
    rows = torch.randint(0, 600_000, (4096,), device="cuda")
    head(items(rows)).square().mean().backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
print(torch.cuda.max_memory_allocated())
