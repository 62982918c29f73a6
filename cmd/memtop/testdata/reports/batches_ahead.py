"""A thread prepares batches ahead, and has moved all of those that wait in its queue to the GPU."""

import queue
import sys
import threading
import time

import torch
from torch import nn

ahead = queue.Queue(1 if "fix" in sys.argv else 16)


def prepare():
    for _ in range(40):
        ahead.put(torch.randn(4, 3, 512, 512).cuda())
    ahead.put(None)


threading.Thread(target=prepare, daemon=True).start()
model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=4)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while (x := ahead.get()) is not None:
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.1)
print(torch.cuda.max_memory_allocated())
