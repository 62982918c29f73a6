"""Inference under autocast: half-precision copies of all weights stay beside the weights until the context ends."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)]).cuda().eval()
with torch.no_grad(), torch.autocast("cuda", torch.float16, cache_enabled=not fix):
    for _ in range(8):
        best = model(torch.randn(64, 2048, device="cuda")).argmax(1)
print(torch.cuda.max_memory_allocated())
