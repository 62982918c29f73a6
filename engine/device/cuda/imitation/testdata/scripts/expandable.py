"""Expandable segments: addresses are reserved at once, memory is mapped as it is needed."""

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
import torch

MIB = 1 << 20
tensors = [torch.empty(size * MIB, dtype=torch.uint8, device="cuda") for size in (30, 50, 7, 100)]
assert all(s["is_expandable"] for s in torch.cuda.memory_snapshot())
reserved = torch.cuda.memory_reserved()
free, total = torch.cuda.mem_get_info()
assert 187 * MIB <= reserved < 250 * MIB, reserved
del tensors[1]
tensors.append(torch.empty(49 * MIB, dtype=torch.uint8, device="cuda"))
assert torch.cuda.memory_reserved() == reserved
tensors.clear()
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0
after, _ = torch.cuda.mem_get_info()
assert after - free == reserved, (after, free, reserved)
try:
    torch.empty(total, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    print("does not fit:", str(error)[:60])
else:
    raise AssertionError("as much as the whole device fitted")
print("reserved", reserved, "then", torch.cuda.memory_reserved())
