"""Tensors saved for the backward pass, read when a module's forward returns.

The nodes between a module's outputs and its inputs have just been made by this thread, and no backward pass has them
yet. What they saved is read there, and nothing is replaced: backward gets the program's own objects. What is made
outside of modules, such as a loss, is read in the same way when the program starts a backward pass.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Callable

import torch
from torch.utils import checkpoint

from ..safety.threads import called_by_pytorch, touches
from .graphs import nodes_in, saved_by

ENGINE = "_engine_run_backward"  # what PyTorch's own functions call to start a backward pass


def count_of_nodes() -> int:
    """Return the number that this thread's next node gets."""
    return int(torch._C._autograd._get_sequence_nr())


@touches
class SavedTensors:
    """Reads each node once. It belongs to the thread that calls `on`, and keeps no node."""

    def __init__(self, saw: Callable[[Any, Any], None], guard: Callable[[Any], Any]) -> None:
        self._saw = saw  # is called with each tensor, and the row of the module that saved it, None outside of modules
        self._read: set[int] = set()  # numbers of nodes
        self._since = 0  # the number of the step's first node
        self._recomputations = _Recomputations(guard(lambda tensor: saw(tensor, None)))
        self._starting = guard(self._outside)
        self._original: Any = None

    def on(self) -> None:
        """Begin a step."""
        self._read.clear()
        self._since = count_of_nodes()
        if self._original is None:
            self._recomputations.on()
            self._original = getattr(torch.autograd, ENGINE)
            setattr(torch.autograd, ENGINE, self._started(self._original))

    def off(self) -> None:
        """Stop."""
        self._recomputations.off()
        if self._original is not None:
            setattr(torch.autograd, ENGINE, self._original)
            self._original = None

    def made(self, row: Any, outputs: Iterable[Any], inputs: set[Any], since: int) -> None:
        """Read what a module's forward saved: the nodes from this number on, between its outputs and its inputs."""
        for node in self._walk(list(nodes_in(outputs)), inputs, since, within=True):
            for tensor in saved_by(node):
                self._saw(tensor, row)

    def _started(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        @called_by_pytorch
        def run(outputs: Any, *arguments: Any, **named: Any) -> Any:
            self._starting(outputs)
            return original(outputs, *arguments, **named)

        return run

    def _outside(self, outputs: Any) -> None:
        """Read what this step's forward saved outside of modules."""
        if torch._C._current_graph_task_id() != -1:
            return
        for node in self._walk(list(nodes_in(outputs)), set(), self._since, within=False):
            for tensor in saved_by(node):
                self._saw(tensor, None)

    def _walk(self, todo: list[Any], inputs: set[Any], since: int, within: bool) -> Iterator[Any]:
        """Yield the nodes that were not read yet. Those of inner modules were, and lead to others `within` a module."""
        seen: set[int] = set()
        while todo:
            node = todo.pop()
            number = node._sequence_nr()
            if number < since or number in seen or node in inputs:
                continue
            seen.add(number)
            if number not in self._read:
                self._read.add(number)
                yield node
            elif not within:
                continue
            todo += [before for before, _ in node.next_functions if before is not None]


class _Recomputations:
    """Shows what a checkpoint saves again when it recomputes. PyTorch's own hooks are on top then."""

    def __init__(self, saw: Callable[[Any], None]) -> None:
        self._saw = saw
        self._original: Any = None

    def on(self) -> None:
        saw, original = self._saw, checkpoint._recomputation_hook

        class Seen(original):  # type: ignore[misc,valid-type]
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                pack = self.pack_hook

                @called_by_pytorch
                @functools.wraps(pack)
                def seen(tensor: Any) -> Any:
                    saw(tensor)
                    return pack(tensor)

                self.pack_hook: Callable[[Any], Any] = seen

        self._original, checkpoint._recomputation_hook = original, Seen

    def off(self) -> None:
        if self._original is not None:
            checkpoint._recomputation_hook, self._original = self._original, None
