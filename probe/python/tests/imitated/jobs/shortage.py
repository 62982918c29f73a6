"""Training that runs out of memory: python shortage.py caught|uncaught. Caught, it goes on with a smaller batch."""

from __future__ import annotations

import sys

import pace
import torch
from training import WIDTH, Blocks

torch.manual_seed(1)
model = Blocks().cuda()
optimizer = torch.optim.AdamW(model.parameters())
batches = [1 << 22]  # the last is the current one
pace.say("begin")
for _ in pace.steps(pace.held(model, optimizer), lambda: {"batch": batches[-1]}):
    optimizer.zero_grad()
    try:
        model(torch.randn(batches[-1], WIDTH, device="cuda")).backward()
    except torch.cuda.OutOfMemoryError as error:
        pace.say("exhausted", batch=batches[-1], text=str(error))
        if sys.argv[1] == "uncaught":
            raise
        batches.append(batches[-1] // 2)
        continue
    optimizer.step()
