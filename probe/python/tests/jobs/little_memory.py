"""Its address space is limited to little more than it has, and each step takes and returns most of the rest."""

import resource
from pathlib import Path

import torch
from training import Training, turns

training = Training()
training.step()
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + (400 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
for _ in turns():
    scratch = torch.zeros(64 << 20, dtype=torch.uint8)
    loss = training.step() + scratch[-1]
    del scratch
print(loss.item().hex())
