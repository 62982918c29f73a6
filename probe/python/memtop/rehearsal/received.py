"""What ranks send each other by the device. Flags, counts and lengths that are known reach the other ranks through the
store by which they found each other. Of all else what was received is not known: no operation of PyTorch writes there.
"""

from __future__ import annotations

import functools
import pickle
from typing import Any, Callable

import torch

from ..safety.interrupts import ignored
from ..safety.threads import called_by_pytorch
from . import sent_objects
from .known_operations import hidden
from .twins import Twins

RECEIVING = (  # they write to their first argument, and other ranks say what
    "allgather_coalesced_", "allgather_into_tensor_coalesced_", "allreduce_coalesced_", "alltoall_", "gather_", "recv_",
    "recv_any_source_", "reduce_", "reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_",
    "scatter_",
)  # fmt: skip
REDUCED: dict[str, Callable[[Any], Any]] = {
    "SUM": lambda x: x.sum(0), "PRODUCT": lambda x: x.prod(0), "MIN": lambda x: x.amin(0), "MAX": lambda x: x.amax(0),
}  # fmt: skip

Receive = Callable[[list[list[Any]], int], Any]  # a value, of what each rank sent, by the rank that receives
Parts = list[tuple[Any, Receive]]


class Received:
    """Replaces the operations of PyTorch's groups, which Python and C++ call by the dispatcher."""

    def __init__(self, twins: Twins) -> None:
        self._twins = twins
        self._library: Any = None

    def begin(self) -> None:
        """Replace the operations by functions that call them."""
        if not torch.distributed.is_available():
            return
        self._library = torch.library.Library("c10d", "IMPL")
        for name in (*RECEIVING, *CARRIED):
            with ignored(RuntimeError, AttributeError):  # this PyTorch does not have it
                original = torch.library.get_kernel(f"c10d::{name}", "CUDA").call_boxed
                self._library.impl(name, self._receiving(name, original), "CUDA", with_keyset=True)

    def _receiving(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        carried = CARRIED.get(name)

        @hidden
        def receive(keys: Any, into: Any, *arguments: Any, **named: Any) -> Any:
            whole = carried is not None and _whole_numbers(into) and torch.distributed.is_initialized()
            parts = self._parts(*carried(into, *arguments)) if carried and whole else []  # before it is written to
            result = original(keys, into, *arguments, **named)
            if whole or name != "broadcast_":  # of other numbers all ranks are taken to have what the sender has
                self._twins.forget(into)
            for x, fetch in parts:
                self._twins.receive(x, fetch)
            return result

        return receive

    def _parts(self, boxed: Any, mine: list[Any], parts: Parts) -> list[tuple[Any, Callable[[], Any]]]:
        """Send what this rank knows. Return what is received, and what fetches each of it."""
        group = torch.distributed.ProcessGroup.unbox(boxed)
        ranks = list(range(group.size()))
        fetched = functools.cache(sent_objects.sent(group, pickle.dumps(self._twins.all_of(mine)), ranks))

        def fetch(receive: Receive) -> Any:
            everyone = [pickle.loads(one) for one in fetched()]
            return None if None in everyone else receive(everyone, group.rank())

        return [(x, functools.partial(fetch, receive)) for x, receive in parts]


@called_by_pytorch
def _whole_numbers(x: Any) -> bool:
    while isinstance(x, (list, tuple)):
        x = x[0] if x else None
    return x is not None and not (x.is_floating_point() or x.is_complex())


@called_by_pytorch
def _gathered(into: Any, mine: Any, group: Any, *_: Any) -> tuple[Any, Any, Parts]:
    return group, mine, [(x, _of(rank, i)) for i, row in enumerate(into) for rank, x in enumerate(row)]


@called_by_pytorch
def _gathered_as_one(into: Any, x: Any, group: Any, *_: Any) -> tuple[Any, Any, Parts]:
    shape = into.shape
    return group, [x], [(into, lambda sent, _: torch.cat([s[0].flatten() for s in sent]).view(shape))]


@called_by_pytorch
def _broadcast(into: Any, group: Any, root: int, *_: Any) -> tuple[Any, Any, Parts]:
    return group, into, [(x, _of(root, i)) for i, x in enumerate(into)]


@called_by_pytorch
def _reduced(into: Any, group: Any, boxed: Any, *_: Any) -> tuple[Any, Any, Parts]:
    reduced = REDUCED.get(torch.distributed.ReduceOp.unbox(boxed).op.name)

    def receive(i: int) -> Receive:
        return lambda sent, _: reduced(torch.stack([s[i] for s in sent])) if reduced else None

    return group, into, [(x, receive(i)) for i, x in enumerate(into)]


@called_by_pytorch
def _exchanged(into: Any, x: Any, group: Any, _: Any, lengths: Any, *__: Any) -> tuple[Any, Any, Parts]:
    def receive(sent: list[list[Any]], rank: int) -> Any:
        return torch.cat([s[0].split(s[1] or len(s[0]) // len(sent))[rank] for s in sent])

    return group, [x, lengths], [(into, receive)]


def _of(rank: int, i: int) -> Receive:
    return lambda sent, _: sent[rank][i]


# What each operation sends, and what of it becomes what is received.
CARRIED: dict[str, Callable[..., tuple[Any, Any, Parts]]] = {
    "allgather_": _gathered, "_allgather_base_": _gathered_as_one, "allreduce_": _reduced,
    "alltoall_base_": _exchanged, "broadcast_": _broadcast,
}  # fmt: skip
