"""Training is sharded, but its checkpoint is gathered whole on the GPU of each rank before it is written."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

fix = "fix" in sys.argv
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)]).cuda()
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=fix))
    if rank == 0:
        torch.save(whole, "checkpoint.pt")
    del whole
print(rank, torch.cuda.max_memory_allocated(), flush=True)
