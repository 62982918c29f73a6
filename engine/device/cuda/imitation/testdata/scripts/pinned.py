"""Pins host memory in all of PyTorch's ways, and prints what PyTorch counted, and what it asked for at the peak."""

import torch

MIB = 1 << 20


def buffers():
    yield torch.empty(33 * MIB, dtype=torch.uint8, pin_memory=True)
    yield torch.empty(129 * MIB, dtype=torch.uint8).pin_memory()
    yield torch.empty(257 * MIB, dtype=torch.uint8, device="cuda").to("cpu", non_blocking=True)
    yield torch.zeros(3 * MIB // 4, pin_memory=True).untyped_storage()


def counted():
    found = torch.cuda.host_memory_stats()
    return {"held": found["allocated_bytes.peak"], "used": found["active_bytes.peak"]}


held = list(buffers())
asked = sum(each.nbytes if isinstance(each, torch.Tensor) else each.nbytes() for each in held)
peaks = counted()
del held[:]
torch.cuda.synchronize()
torch.cuda.reset_peak_host_memory_stats()

model = torch.nn.Sequential(*(torch.nn.Tanh() for _ in range(4))).cuda()
batches = torch.utils.data.DataLoader(torch.ones(24, 3 * MIB // 16), batch_size=4, pin_memory=True)
scale = torch.nn.Parameter(torch.ones((), device="cuda"))
optimizer = torch.optim.SGD([scale], lr=0.1)
for batch in batches:
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = model(batch.cuda(non_blocking=True) * scale).sum()
    loss.backward()
    optimizer.step()
assert counted()["used"] < peaks["used"]
print("pinned", max(peaks["held"], counted()["held"]), peaks["used"], asked)
