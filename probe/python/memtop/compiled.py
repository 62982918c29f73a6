"""Whether a program uses `torch.compile`: hooks would break its graphs and make it compile again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from .threads import touches

_COUNTED = ("frames", "stats")  # PyTorch counts no frames of what it compiles as a whole


def has_compiled() -> bool:
    """Report whether `torch.compile` has compiled anything so far. Any thread may ask."""
    utilities = sys.modules.get("torch._dynamo.utils")
    counters = getattr(utilities, "counters", None)  # None while another thread is importing it
    return counters is not None and any(counters.get(kind) for kind in _COUNTED)


@touches
def compiles(models: Iterable[Any]) -> bool:
    """Report whether `torch.compile` has compiled anything so far, or will compile one of these models."""
    return has_compiled() or any(
        type(model).__name__ == "OptimizedModule"
        or any(vars(part).get("_compiled_call_impl") is not None for part in model.modules())
        for model in models
    )
