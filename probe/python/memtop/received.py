"""What ranks send each other is not known by the twins of what they received it into: no operation of
PyTorch's writes there. Every rank is taken to have sent what this one did."""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from .twins import Twins

RECEIVING = (
    "allgather", "_allgather_base", "allgather_coalesced", "allgather_into_tensor_coalesced", "gather", "scatter",
    "alltoall", "alltoall_base", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced", "recv",
    "recv_anysource",
)  # fmt: skip


def begin(twins: Twins) -> None:
    """Wrap the functions of PyTorch's groups that receive."""
    if torch.distributed.is_available():
        group = torch.distributed.ProcessGroup
        for name in RECEIVING:
            if hasattr(group, name):
                setattr(group, name, _receiving(getattr(group, name), twins))


def _receiving(original: Callable[..., Any], twins: Twins) -> Callable[..., Any]:
    @functools.wraps(original)
    def receive(group: Any, into: Any, *arguments: Any, **named: Any) -> Any:
        work = original(group, into, *arguments, **named)
        _forget(into, twins)
        return work

    return receive


def _forget(into: Any, twins: Twins) -> None:
    if not isinstance(into, torch.Tensor):
        for each in into:
            _forget(each, twins)
    elif into.is_cuda:
        twins.put(into, None)
