"""Training whose forward and backward are a CUDA graph, with memory in a pool of its own. It stands still within the
capture."""

from __future__ import annotations

import pace
import torch
from training import BATCH, WIDTH, Blocks

torch.manual_seed(1)
model = Blocks().cuda()
optimizer = torch.optim.AdamW(model.parameters())
given = torch.randn(BATCH, 16, WIDTH, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad()
        model(given).backward()
torch.cuda.current_stream().wait_stream(side)
optimizer.zero_grad()
pace.say("begin")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = model(given)
    pace.halt("captures")
    loss.backward()
for _ in pace.steps(pace.held(model, optimizer), lambda: {"losses": [loss.item()]}):
    given.copy_(torch.randn(BATCH, 16, WIDTH, device="cuda"))
    graph.replay()
    optimizer.step()
