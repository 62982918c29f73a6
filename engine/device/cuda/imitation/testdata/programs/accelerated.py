"""Six linear layers are trained with Accelerate in bf16."""

import torch
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator(mixed_precision="bf16")
model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(6)])
rows = torch.utils.data.DataLoader(torch.zeros(512, 1024), batch_size=64)
model, optimizer, rows = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), rows)
for batch in rows:
    accelerator.backward(model(batch).square().mean())
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
