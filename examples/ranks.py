"""Ranks that train together, of which one gets longer sequences than the others, as a sampler may deal them.

memtop rehearse --gpus 8 -o job.pickle -- torchrun --nproc-per-node 8 examples/ranks.py
"""

import os

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl")
layers = [nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(8)]
model = DistributedDataParallel(nn.Sequential(*layers).cuda())
optimizer = torch.optim.AdamW(model.parameters())
length = 16384 if rank == 5 else 4096
for _ in range(5):
    model(torch.randn(8, length, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.distributed.destroy_process_group()
