"""A layer is captured for batches of several sizes, the largest first: each graph in a pool of its own, or all in one.
It counts its own bytes. The second argument is a size to leave out."""

import sys

import torch

pools, left_out = sys.argv[1], int(sys.argv[2])
layer = torch.nn.Linear(1024, 8192).cuda()
given = torch.zeros(4096, 1024, device="cuda")
pool = torch.cuda.graph_pool_handle() if pools == "one" else None
kept = []
with torch.no_grad():
    for size in (4096, 2048, 512):
        if size == left_out:
            continue
        graph = torch.cuda.CUDAGraph()
        torch.cuda.reset_peak_memory_stats()
        allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
        with torch.cuda.graph(graph, pool=pool):
            made = layer(given[:size]).relu()
        kept.append((graph, made))
        needs, keeps = torch.cuda.max_memory_allocated() - allocated, torch.cuda.memory_allocated() - allocated
        print("size", size, needs, keeps, torch.cuda.memory_reserved() - reserved, file=sys.stderr)
print("end", torch.cuda.memory_reserved(), file=sys.stderr)
