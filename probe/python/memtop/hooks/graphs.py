"""What of autograd is read, and which of the program's variables keep graphs of earlier steps.

PyTorch takes the lock of a view to read its node, and another thread may hold that lock while it waits for the
interpreter. A backward pass frees what nodes saved without asking anybody. So between the steps no node and
no saved tensor is read, and whether a tensor has a graph is read where no lock is taken. Only in the hook of a
module's forward, and where a backward pass is about to start, in the thread that has just built that part of the graph,
`nodes_in` gives its nodes, and `saved_by` what they saved.

What a graph keeps shows in lifetimes: tensors that a step saved for its backward pass, and that are still alive two
steps later, are kept by something that was made in the same steps and has a graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import GetSetDescriptorType
from typing import Any, Callable

import torch

from ..memory.registry import KEEPABLE, Registry, tensors_in
from ..safety.inspection import static
from ..safety.interrupts import ignored
from ..safety.threads import touches

LATER = 2  # steps after which a backward pass has released what it is going to release
ENOUGH = 2  # steps of which something is kept, before its keeper is named
WITH_GRAPH = " with its graph"


@touches
def is_leaf(tensor: Any) -> bool:
    """Report whether a tensor has no graph. A view that needs a gradient has one."""
    return not tensor.requires_grad or (not tensor._is_view() and tensor.is_leaf)


@touches
def nodes_in(value: Any) -> Iterator[Any]:
    """Yield the nodes that made the tensors in a value; of a view, the one that made what it is a view of. Only hooks
    of a module's forward may call this, for its inputs and outputs, and where a backward pass is about to start."""
    for tensor in tensors_in(value):
        node = (tensor._base if tensor._is_view() else tensor).grad_fn
        if node is not None:
            yield node


SHOWN = hasattr(torch._C._autograd.SavedTensor, "data")  # without it, PyTorch runs the program's hooks to show it
_NUMBERS = (torch.float64, torch.int64, torch.bool, torch.complex128)
_saving: dict[type, tuple[str, ...]] = {}  # by type of node, the attributes that have what it saved, as it lies there


@touches
def saved_by(node: Any) -> Iterator[Any]:
    """Yield the tensors that a node has saved. What the program's own hooks made of one is passed over. Only who may
    call `nodes_in` may call this, for nodes that no backward pass has. There are none unless `SHOWN`."""
    kind = type(node)
    if kind not in _saving:
        _saving[kind] = tuple(name for name in dir(kind) if name.startswith("_raw_saved_"))
    with ignored(RuntimeError):  # a backward pass has freed all of it
        for name in _saving[kind]:
            saved = getattr(node, name)
            for each in saved if isinstance(saved, (list, tuple)) else (saved,):
                if isinstance(tensor := getattr(each, "data", None), torch.Tensor) and not _is_number(tensor):
                    yield tensor


@touches
def _is_number(tensor: Any) -> bool:
    """Report whether a tensor is what PyTorch makes of a number in an operation: x / 2."""
    return tensor.dim() == 0 and tensor.device.type == "cpu" and tensor.dtype in _NUMBERS


def is_node(value: Any) -> bool:
    """Report whether a value is a node of a graph, such as the context of a custom Function."""
    return type(static(type(value), "next_functions")) is GetSetDescriptorType


class Keeper:
    """A container, or a variable whose value is made from its last one, that has something with a graph."""

    def __init__(self, words: Callable[[str], str], contained: bool) -> None:
        self.words = words  # returns its words for a role, with the line that keeps, after what it keeps
        self.contained = contained
        self.made: set[int] = set()  # the steps that made what it has
        self.nodes = False  # it has nodes themselves, whose steps are not known


class Graphs:
    """Finds what keeps graphs. It belongs to the training thread, and keeps nothing of the program."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._seen: dict[Any, Keeper] = {}  # by where they are, those of this look: they have frames of the program
        self._known: dict[Any, str] = {}  # the words of those that keep graphs, by where they are

    def note(self, place: Any, contained: bool, words: Callable[[str], str], made: int | None) -> None:
        """Note that a variable or container has something with a graph, made in the step `made`; None for a node."""
        keeper = self._seen.setdefault(place, Keeper(words, contained))
        if made is None:
            keeper.nodes = True
        else:
            keeper.made.add(made)

    def forget(self) -> None:
        """Keep no frame of the program."""
        self._seen.clear()

    def words(self, place: Any) -> str:
        """Return the words of what is known to keep graphs, "" for anything else."""
        return self._known.get(place, "")

    def settle(self, named: set[int]) -> None:
        """End a look: name what keeps the tensors that earlier steps saved. `named` are addresses of those that the
        program has otherwise."""
        latest = self._registry.step - LATER
        left = [h for h in self._registry.holdings() if 0 < h.saved_in <= latest and h.saved_in == h.born]
        left = [h for h in left if h.category in KEEPABLE and h.address not in named]
        steps = {h.saved_in for h in left}
        if len(steps) < ENOUGH or (place := _only_one(self._seen, steps)) is None:
            return
        words = self._known.setdefault(place, self._seen[place].words(WITH_GRAPH))
        for holding in left:
            self._registry.keep(holding, words)


def _only_one(seen: dict[Any, Keeper], steps: set[int]) -> Any:
    """Return the place of the only one that may keep what these steps saved, None if there are several or none."""
    able = [place for place, keeper in seen.items() if not keeper.contained or keeper.nodes or steps <= keeper.made]
    able = [place for place in able if seen[place].contained] or able
    return able[0] if len(able) == 1 else None
