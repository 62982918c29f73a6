"""Training of a model that torch.compile has compiled, by Triton if it is there."""

from __future__ import annotations

import gc
import importlib.util
from typing import Any

import torch
from training import BATCH, WIDTH, train

BACKEND = "inductor" if importlib.util.find_spec("triton") else "aot_eager"


def compiled(model: Any) -> Any:
    """Compile a model, and give back what compiling it took: how much that is depends on Python's garbage."""
    made = torch.compile(model, backend=BACKEND)
    made(torch.randn(BATCH, 16, WIDTH, device="cuda")).backward()
    model.zero_grad()
    gc.collect()
    torch.cuda.empty_cache()
    return made


train(torch.device("cuda"), compiled)
