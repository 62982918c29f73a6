"""Pinned memory, copies that do not wait, several streams and events."""

import torch

pinned = torch.ones(1000).pin_memory()
assert pinned.is_pinned() and not torch.ones(3).is_pinned()
assert torch.empty(10, pin_memory=True).is_pinned()
there = pinned.to("cuda", non_blocking=True)
back = torch.empty(1000, pin_memory=True)
back.copy_(there, non_blocking=True)
torch.cuda.synchronize()
assert back.tolist() == [1.0] * 1000

streams = [torch.cuda.Stream(priority=p) for p in (0, -1, 0)]
events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
events[0].record()
big = 8 << 20
for stream in streams:
    stream.wait_event(events[0])
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        part = torch.empty(big, dtype=torch.uint8, device="cuda")
        part.record_stream(torch.cuda.default_stream())
        torch.cuda.current_stream().synchronize()
    del part
events[1].record()
events[1].synchronize()
assert events[1].query() and events[0].elapsed_time(events[1]) > 0
torch.cuda.synchronize()
# Each stream has its own segment, as memory is not given from one stream to another.
large = [s for s in torch.cuda.memory_snapshot() if s["segment_type"] == "large"]
assert len({s["stream"] for s in large}) == 3, large
print("streams", len(large), "reserved", torch.cuda.memory_reserved(), "allocated", torch.cuda.memory_allocated())
print("host", torch.cuda.host_memory_stats().get("allocated_bytes.current"))
