"""Pipeline parallelism: a rank has its stage of the layers, and micro-batches go through."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

WIDTH, LAYERS, ROWS, PARTS = 512, 4, 32, 4

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS // world)]
model = nn.Sequential(*layers).to(device)
stage = PipelineStage(model, rank, world, device)  # the first stage tells the others what comes
schedule = ScheduleGPipe(stage, PARTS, loss_fn=lambda output, target: (output - target).square().mean())
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    losses = []
    rows = torch.randn(ROWS, WIDTH, device=device)
    if rank == 0:
        schedule.step(rows)
    elif rank == world - 1:
        schedule.step(target=rows, losses=losses)
        assert len(losses) == PARTS
    else:
        schedule.step()
    assert all(p.grad is not None for p in model.parameters())
    optimizer.step()
    optimizer.zero_grad()
print(f"rank {rank} of {world}: peak {torch.cuda.max_memory_allocated()}")
dist.destroy_process_group()
