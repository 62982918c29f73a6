"""Every rank loads the checkpoint that rank 0 saved, without map_location: all onto GPU 0, and there it stays."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn

fix = "fix" in sys.argv
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(8)]).cuda()
if rank == 0:
    torch.save(model.state_dict(), "checkpoint.pt")
dist.barrier()
checkpoint = torch.load("checkpoint.pt", **({"map_location": "cpu"} if fix else {}))
model.load_state_dict(checkpoint)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(rank, [torch.cuda.max_memory_allocated(i) for i in range(2)], flush=True)
