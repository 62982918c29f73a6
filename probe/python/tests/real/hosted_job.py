"""Train until the standard input ends, and say each step's loss, to the bit, in a line."""

from __future__ import annotations

import os
import threading

import torch

torch.manual_seed(1)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64))
optimizer = torch.optim.AdamW(model.parameters())
ended = threading.Event()
threading.Thread(target=lambda: (os.read(0, 1), ended.set()), daemon=True).start()
while not ended.wait(0.005):
    x = torch.randn(32, 64)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex(), flush=True)
