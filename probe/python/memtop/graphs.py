"""What a graph keeps: the tensors that its nodes saved for a backward pass that has not run.

A graph is followed from a tensor's node over `next_functions`. The nodes' `_raw_saved_…` attributes give what
was saved as it lies there: nothing is unpacked, no hook of the program runs, no device is waited for. Versions
of PyTorch whose saved tensors have no `data` cannot be read so, and are not: `READABLE` says it.

PyTorch takes no lock against a backward pass in another thread, so a graph is only followed between two steps,
while no other thread of the program is in one.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
import types
import weakref
from collections import deque
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Callable, NamedTuple

import torch

from .saved import tensor_of
from .threads import touches

READABLE = hasattr(torch._C._autograd.SavedTensor, "data")
RAW = "_raw_saved_"
AUTOGRAD = "/torch/autograd/"  # files of functions that run while a backward pass does
MOST_ROOTS = 100_000  # numbers of nodes that are remembered
_grad_fn: Any = inspect.getattr_static(torch._C.TensorBase, "grad_fn")


class Kind(NamedTuple):
    """A type of nodes: how its nodes are read."""

    type: weakref.ref[type]
    next: Any  # None for a type that is none of nodes
    saved: tuple[tuple[str, Any], ...]


class Graphs:
    """Follows graphs, each once. It belongs to the training thread, and keeps no node."""

    def __init__(self) -> None:
        self._kinds: dict[int, Kind] = {}
        self._known: set[int] = set()  # numbers of nodes whose whole graph has been shown
        self._shared = False  # another thread has been seen in a backward pass: no graph is followed any more

    def may_follow(self) -> bool:
        """Report whether no other thread can be in a backward pass now."""
        self._shared = self._shared or _others_go_back()
        return READABLE and not self._shared

    @touches
    def root(self, value: Any) -> Any:
        """Return the node that made a tensor, or the node itself; None for anything else."""
        if isinstance(value, torch.Tensor):
            return _grad_fn.__get__(value)
        return value if self._kind(type(value)).next is not None else None

    @touches
    def follow(self, root: Any, show: Callable[[Any, str], None], until: int) -> bool:
        """Call `show` with each saved tensor and what it is in its node. Return False if the time `until`, of
        `time.perf_counter_ns`, came before the end."""
        todo, seen, held = deque([root]), {id(root)}, []
        while todo:
            node = todo.popleft()
            held.append(node)  # so that no other gets its id
            kind = self._kind(type(node))
            if kind.next is None or self.knows(node):
                continue
            if time.perf_counter_ns() > until:
                return False
            try:
                for what, tensor in _saved(node, kind):
                    show(tensor, f"{what} of {type(node).__name__}")
            except RuntimeError:  # a backward pass has released it, and what is below it
                continue
            for following, _ in kind.next.__get__(node):
                if following is not None and id(following) not in seen:
                    seen.add(id(following))
                    todo.append(following)
        self._remember(root)
        return True

    @touches
    def knows(self, node: Any) -> bool:
        """Report whether a node's whole graph has been shown."""
        return _number(node) in self._known

    def _remember(self, node: Any) -> None:
        if len(self._known) >= MOST_ROOTS:
            self._known.clear()
        self._known.add(_number(node))

    def _kind(self, type_: type) -> Kind:
        known = self._kinds.get(id(type_))
        if known is None or known.type() is not type_:
            known = self._kinds[id(type_)] = _kind_of(type_)
        return known


def _kind_of(type_: type) -> Kind:
    following = inspect.getattr_static(type_, "next_functions", None)
    if not isinstance(following, types.GetSetDescriptorType):
        return Kind(weakref.ref(type_), None, ())
    names = sorted({name for base in type_.__mro__ for name in vars(base) if name.startswith(RAW)})
    saved = [(name[len(RAW) :], inspect.getattr_static(type_, name)) for name in names]
    return Kind(weakref.ref(type_), following, tuple(saved))


@touches
def _saved(node: Any, kind: Kind) -> Iterator[tuple[str, Any]]:
    """Yield what a node saved. Raise RuntimeError if a backward pass has released it."""
    for name, getter in kind.saved:
        raw = getter.__get__(node)
        for each in raw if isinstance(raw, tuple) else (raw,):
            tensor = tensor_of(each.data) if each is not None else None
            if tensor is not None:
                yield name, tensor
    fields = getattr(node, "__dict__", None) if kind.saved and kind.saved[0][0] == "tensors" else None
    for name, value in list(fields.items()) if type(fields) is dict else []:
        if isinstance(value, torch.Tensor):
            yield name, value


@touches
def _number(node: Any) -> int:
    return int(node._sequence_nr())


def _others_go_back() -> bool:
    """Report whether another thread is inside a function of PyTorch's autograd."""
    me = threading.get_ident()
    return any(_goes_back(frame) for thread, frame in sys._current_frames().items() if thread != me)


def _goes_back(frame: FrameType | None) -> bool:
    while frame is not None:
        code: CodeType = frame.f_code
        if AUTOGRAD in code.co_filename:
            return True
        frame = frame.f_back
    return False
