"""What ranks send each other is not known by the twins of what they received it into: no operation of
PyTorch's writes there. Only what one rank sends to all is taken to be what this one has."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .interrupts import ignored
from .known import hidden
from .twins import Twins

RECEIVING = (  # they write to their first argument, and other ranks say what
    "allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_", "allreduce_",
    "allreduce_coalesced_", "alltoall_", "alltoall_base_", "gather_", "recv_", "recv_any_source_", "reduce_",
    "reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "scatter_",
)  # fmt: skip


class Received:
    """Ends twins of what is received. PyTorch's groups call their operations by the dispatcher, from Python and C++."""

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self._library: Any = None

    def begin(self) -> None:
        """Replace the operations by functions that call them."""
        if not torch.distributed.is_available():
            return
        self._library = torch.library.Library("c10d", "IMPL")
        for name in RECEIVING:
            with ignored(RuntimeError, AttributeError):  # this PyTorch does not have it
                original = torch.library.get_kernel(f"c10d::{name}", "CUDA").call_boxed
                self._library.impl(name, self._receiving(original), "CUDA", with_keyset=True)

    def _receiving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @hidden
        def receive(keys: Any, into: Any, *arguments: Any, **named: Any) -> Any:
            result = original(keys, into, *arguments, **named)
            self._twins.forget(into)
            return result

        return receive
