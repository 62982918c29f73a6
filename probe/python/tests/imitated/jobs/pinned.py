"""Training that moves its batches through pinned memory, and keeps saved tensors there."""

from __future__ import annotations

from typing import Any

import torch
from training import BATCH, WIDTH, train

kept = torch.empty(BATCH, 16, WIDTH, pin_memory=True)


def batch() -> Any:
    kept.normal_()
    return kept.to("cuda", non_blocking=True)


def main() -> None:
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        train(torch.device("cuda"), batch=batch)


main()
