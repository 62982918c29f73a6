"""Training on batches that another stream makes. At a halt, memory of such a batch waits for its stream."""

from __future__ import annotations

from typing import Any

import torch
from training import BATCH, WIDTH, train

side = torch.cuda.Stream()


def batch() -> Any:
    with torch.cuda.stream(side):
        made = torch.randn(BATCH, 16, WIDTH, device="cuda")
        other = torch.randn(BATCH, 16, WIDTH, device="cuda")
    torch.cuda.current_stream().wait_stream(side)
    made.record_stream(torch.cuda.current_stream())
    other.record_stream(torch.cuda.current_stream())
    return made.add_(other)


train(torch.device("cuda"), batch=batch)
