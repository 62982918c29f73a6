"""Has calls of PyTorch's get other arguments, as if the program said so, to measure what that saves."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .imitated import note, told

BUCKET_VIEWS, RESHARDED = "gradient_as_bucket_view=True", "reshard_after_forward"


def begin() -> None:
    """Replace what is asked for: DistributedDataParallel uses its buckets as gradients, FSDP2 frees the gathered
    weights of layers after forward, as it does by itself."""
    if BUCKET_VIEWS in told()["arguments"]:
        kind: Any = torch.nn.parallel.DistributedDataParallel
        kind.__init__ = _called(kind.__init__, lambda named: named.update(gradient_as_bucket_view=True))
    if RESHARDED in told()["arguments"]:
        from torch.distributed import fsdp

        fsdp.fully_shard = _called(fsdp.fully_shard, _reshard)


def _reshard(named: dict[str, Any]) -> None:
    if named.get("reshard_after_forward") is False:
        del named["reshard_after_forward"]


def _called(original: Any, change: Any) -> Any:
    @functools.wraps(original)
    def changed(*arguments: Any, **named: Any) -> Any:
        before = dict(named)
        change(named)
        if named != before:
            note("changed")
        return original(*arguments, **named)

    return changed
