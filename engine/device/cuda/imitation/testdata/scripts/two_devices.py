"""Two GPUs in one process: each has its own memory."""

import os

os.environ["MEMTOP_IMITATED_GPU"] = os.environ.get("MEMTOP_IMITATED_GPU", "") + ";devices=2"
import torch

assert torch.cuda.device_count() == 2
a = torch.ones(1 << 20, device="cuda:0")
b = a.to("cuda:1")
assert b.device.index == 1
assert torch.cuda.memory_allocated(0) == torch.cuda.memory_allocated(1) == 4 << 20
with torch.cuda.device(1):
    c = torch.empty(8 << 20, device="cuda")
    assert c.device.index == 1 and torch.cuda.current_device() == 1
assert torch.cuda.memory_allocated(1) == 36 << 20
small = torch.tensor([1, 2, 3]).to("cuda:0")
assert small.to("cuda:1").tolist() == [1, 2, 3]
left = [torch.cuda.mem_get_info(d)[0] for d in (0, 1)]
assert left[0] > left[1], left
assert torch.cuda.can_device_access_peer(0, 1)
model = torch.nn.DataParallel(torch.nn.Linear(64, 64).cuda())
model(torch.randn(8, 64).cuda()).sum().backward()
print("allocated", torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1), "left", left)
