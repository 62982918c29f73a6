"""Whether a program compiles its model: there hooks would break graphs and have them compiled again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def compiles(models: Iterable[Any]) -> bool:
    """Report whether `torch.compile` has compiled anything so far, or is to compile one of these models."""
    utilities = sys.modules.get("torch._dynamo.utils")
    if utilities is not None and utilities.counters.get("frames"):
        return True
    return any(
        type(model).__name__ == "OptimizedModule"
        or any(vars(part).get("_compiled_call_impl") is not None for part in model.modules())
        for model in models
    )
