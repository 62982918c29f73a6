"""Training that records the allocator's history itself, with few entries."""

from __future__ import annotations

from typing import Any

import pace
import torch
from training import BATCH, WIDTH, Blocks

ENTRIES = 100

torch.manual_seed(1)
torch.cuda.memory._record_memory_history(max_entries=ENTRIES, stacks="python")
model = Blocks().cuda()
optimizer = torch.optim.AdamW(model.parameters())


def recorded() -> dict[str, Any]:
    [trace] = torch.cuda.memory._snapshot()["device_traces"][:1]
    return {"entries": len(trace), "stacks": sum(bool(entry.get("frames")) for entry in trace)}


pace.say("begin")
for _ in pace.steps(recorded):
    optimizer.zero_grad()
    model(torch.randn(BATCH, 16, WIDTH, device="cuda")).backward()
    optimizer.step()
