"""PowerSGD keeps what its compression left out, as much as all gradients, for the next step."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

fix = "fix" in sys.argv
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(12)]).cuda()
model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
state = power.PowerSGDState(None, start_powerSGD_iter=2, use_error_feedback=not fix, warm_start=False)
model.register_comm_hook(state, power.powerSGD_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(rank, torch.cuda.max_memory_allocated(), flush=True)
