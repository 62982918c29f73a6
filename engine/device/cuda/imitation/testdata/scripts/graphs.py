"""CUDA graphs: what is allocated while one is captured is in a pool of its own."""

import torch
from torch import nn

model = nn.Linear(256, 256).cuda()
static = torch.zeros(8, 256, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3):
        model(static).sum().backward()
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    assert torch.cuda.is_current_stream_capturing()
    out = model(static)
assert not torch.cuda.is_current_stream_capturing()
for _ in range(3):
    static.copy_(torch.randn(8, 256))
    graph.replay()
assert out.shape == (8, 256)
pools = {tuple(s["segment_pool_id"]) for s in torch.cuda.memory_snapshot()}
assert len(pools) == 2, pools
print("pools", len(pools), "reserved", torch.cuda.memory_reserved())

second = torch.cuda.CUDAGraph()
with torch.cuda.graph(second, pool=graph.pool()):
    model(static)
second.replay()

part = torch.cuda.make_graphed_callables(
    nn.Sequential(nn.Linear(256, 256), nn.ReLU()).cuda(), (torch.randn(8, 256, device="cuda"),)
)
part(torch.randn(8, 256, device="cuda", requires_grad=True)).sum().backward()
torch.cuda.synchronize()
print("graphed callables: peak", torch.cuda.max_memory_allocated())

graph.reset()
second.reset()
del out, graph, second, part
torch.cuda.empty_cache()
print("after", torch.cuda.memory_reserved())
