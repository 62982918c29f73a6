"""A model is captured for eight sizes of a batch, each into a pool of its own."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv
model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(6)])
model = model.cuda().eval()
graphs, pool = {}, None
with torch.no_grad():
    for size in (4096, 3584, 3072, 2560, 2048, 1536, 1024, 512):
        given = torch.zeros(size, 1024, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            made = model(given)
        graphs[size] = graph, given, made
        if fix:
            pool = graph.pool()
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
