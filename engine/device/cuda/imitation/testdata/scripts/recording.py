"""What looks at a program while it runs: recordings, profilers, ranges, queries."""

import contextlib
import os
import pickle
import tempfile

import torch

torch.cuda.memory._record_memory_history(max_entries=10000)
model = torch.nn.Linear(512, 512).cuda()
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=activities, profile_memory=True, record_shapes=True) as profile:
    with torch.cuda.nvtx.range("step"):
        model(torch.randn(8, 512).cuda()).sum().backward()
    torch.cuda.synchronize()
print("profiler events", len(profile.key_averages()))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "snapshot.pickle")
    torch.cuda.memory._dump_snapshot(path)
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
events = [e for trace in snapshot["device_traces"] for e in trace]
assert sum(e["action"] == "alloc" for e in events) >= 4, len(events)
assert any(f["filename"] == __file__ for e in events for f in e["frames"])
print("snapshot: segments", len(snapshot["segments"]), "events", len(events))

out_of_memory = []
torch._C._cuda_attach_out_of_memory_observer(lambda *a: out_of_memory.append(a))
with contextlib.suppress(torch.cuda.OutOfMemoryError):
    torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
assert len(out_of_memory) == 1


@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    y = x * 2 + 1
    return torch.relu(y).sum(dim=1)


for _ in range(4):
    assert scripted(torch.ones(4, 4, device="cuda")).shape == (4,)

try:
    import pynvml  # noqa: F401
except ImportError:
    print("without pynvml")
else:
    print("used", torch.cuda.device_memory_used(), "utilization", torch.cuda.utilization())
torch.cuda.memory_summary()
torch.cuda.set_per_process_memory_fraction(0.5)
free, total = torch.cuda.mem_get_info()
try:
    torch.empty(int(total * 0.6), dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("a fraction is kept")
else:
    raise AssertionError("more than the fraction fitted")
