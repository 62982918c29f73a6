"""Has DistributedDataParallel use its buckets as gradients, as if the program said so, to measure what that saves."""

from __future__ import annotations

from typing import Any

import torch

from .imitated import note, told


def begin() -> None:
    """Give each DistributedDataParallel the argument, if that is asked for."""
    if not told()["bucket_view"]:
        return
    kind: Any = torch.nn.parallel.DistributedDataParallel
    made = kind.__init__

    def viewing(model: Any, *arguments: Any, **named: Any) -> None:
        if not named.get("gradient_as_bucket_view"):
            named["gradient_as_bucket_view"] = True
            note("changed")
        made(model, *arguments, **named)

    kind.__init__ = viewing
