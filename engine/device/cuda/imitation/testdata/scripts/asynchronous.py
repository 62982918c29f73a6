"""The backend cudaMallocAsync: memory is the driver's pool."""

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "backend:cudaMallocAsync"
import torch

assert torch.cuda.get_allocator_backend() == "cudaMallocAsync"
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(8, 1024).cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
allocated, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
assert allocated >= 3 * 4 * (1024 * 1024 + 1024), allocated
print("allocated", allocated, "peak", peak, "reserved", torch.cuda.memory_reserved())
total = torch.cuda.mem_get_info()[1]
try:
    torch.empty(total, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    print("does not fit:", str(error)[:60])
else:
    raise AssertionError("as much as the whole device fitted")
del model, optimizer
torch.cuda.empty_cache()
