"""A smaller batch is tried inside `except`, while a traceback still holds the pass that failed."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
model = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(16)]).cuda()


def step(batch):
    x = torch.randn(batch, 4096, device="cuda")
    for layer in model:
        x = torch.tanh(layer(x))
    x.square().mean().backward()


def fit(batch):
    while fix:
        try:
            return step(batch) or batch
        except torch.cuda.OutOfMemoryError:
            pass
        batch //= 2
    try:
        return step(batch) or batch
    except torch.cuda.OutOfMemoryError:
        if batch < 4096:
            raise
        return fit(batch // 2)


print("a batch of", fit(49152), "fits", torch.cuda.max_memory_allocated())
