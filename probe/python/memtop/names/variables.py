"""Tensors in the program's own variables: names for tensors that no layer made, and what keeps them.

From the running frames of the program, this follows local and global variables, containers, attributes and the
tracebacks of exceptions to tensors. A tensor's name is the first path that leads to it. What lies in a container
has a keeper: the path of the container, with the line of code that adds to it, such as `history.append(x)`. All that
one keeper keeps has one name, whatever step made it. What keeps graphs shows in lifetimes, see graphs.py.
"""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import islice
from types import CodeType, FrameType
from typing import Any

import torch

from ..hooks.graphs import Graphs, is_leaf, is_node
from ..hooks.models import Models, parts_of
from ..memory.registry import OTHER, Holding, Registry
from ..memory.stacks import Stacks, place_of, variables_of
from ..safety.inspection import is_a
from ..safety.threads import touches
from .containers import Containers
from .paths import DEEPEST, VariablePath, adding_lines, codes_of, inside, renewing_lines, setting_lines

MOST = 20_000  # the most values that are visited each time
LINES = 3  # the most lines that are named


@touches
class Names:
    """Names tensors. It belongs to the training thread, and keeps no value of the program. What `earlier` has found out
    about lines of code is not looked for again."""

    def __init__(self, registry: Registry, stacks: Stacks, models: Models, earlier: Names | None = None) -> None:
        self._registry = registry
        self._stacks = stacks
        self._models = models
        self._graphs = Graphs(registry)
        self.containers = Containers()
        # Lines that keep, by where they are looked for.
        self._found: dict[tuple[Any, ...], list[tuple[CodeType, int]]] = earlier._found if earlier else {}
        # Whether code makes a variable's value from its last one.
        self._renewed: dict[tuple[Any, ...], bool] = earlier._renewed if earlier else {}
        self._named: set[int] = set()  # addresses that have got their name this time

    def show(self, frame: FrameType | None) -> None:
        """Show the registry what the program's frames hold, from `frame` outwards."""
        try:
            self._show(frame)
        finally:  # the program may interrupt a look, and nothing of it may stay
            self._graphs.forget()
            self.containers.forget()

    def _show(self, frame: FrameType | None) -> None:
        self._named.clear()
        left = MOST
        frame = place_of(frame)
        with torch._C.DisableTorchFunctionSubclass():  # so that no code of a tensor's class runs
            while frame is not None and left > 0:
                outer = place_of(frame.f_back)
                local = frame.f_code.co_flags & inspect.CO_OPTIMIZED
                left = self._walk(frame, variables_of(frame).items(), left, frame.f_code if local else frame.f_globals)
                if outer is None and local:
                    left = self._walk(frame, frame.f_globals.items(), left, frame.f_globals)
                if outer is None:
                    left = self._walk(frame, self._elsewhere(), left, frame.f_globals)
                frame = outer
        self._graphs.settle(self._named)
        self.containers.settle(self._keeper)

    def _elsewhere(self) -> list[tuple[str, Any]]:
        """Return what neither a variable nor an attribute of one leads to: the models' own attributes, and the last
        exception that nobody caught."""
        modules = [(self._models.name(m) or "model", m) for model in self._models for _, m in parts_of(model)]
        return [*modules, ("sys.last_value", getattr(sys, "last_value", None))]

    def _walk(self, frame: FrameType, variables: Iterable[tuple[str, Any]], left: int, owner: Any) -> int:
        """Follow variables to tensors, the nearest first. Return how many values may still be visited."""
        own = [(name, value) for name, value in list(variables) if not name.startswith("__")]
        todo = deque(VariablePath(value, name, name, owner, DEEPEST) for name, value in own)
        seen: set[int] = set()
        while todo and left > 0:
            way = todo.popleft()
            left -= 1
            if is_a(way.value, torch.Tensor):
                self._name(way, frame)
            elif is_node(way.value):
                self._note_graph(way, frame, None)
            elif way.left and id(way.value) not in seen:
                seen.add(id(way.value))
                self.containers.note(way, frame)
                todo.extend(islice(inside(way), max(0, left - len(todo))))  # no more than are visited
        return left

    def _name(self, way: VariablePath, frame: FrameType) -> None:
        holding = self._registry.find(way.value)
        if holding is not None and holding.address in self._named:
            return
        leaf = is_leaf(way.value)
        keeper = self._graphs.words(self._place(way, frame)) or self._keeper(way, frame)
        if holding is None or keeper not in ("", holding.keeper):
            category = OTHER if leaf else "activation"
            role = "" if keeper else way.path
            stack = self._stacks.of_line(*self._line(way, frame))
            holding = self._registry.see(way.value, category, role=role, stack=stack, keeper=keeper)
        if holding is not None:
            self._named.add(holding.address)
            if not leaf:
                self._note_graph(way, frame, holding)

    def _note_graph(self, way: VariablePath, frame: FrameType, holding: Holding | None) -> None:
        """Note what has a tensor with a graph, or a node, if it may keep the graph beyond the step."""
        if way.keeper or self._renews(way, frame):
            words = partial(self._keeper, way._replace(value=None), frame)
            self._graphs.note(self._place(way, frame), bool(way.keeper), words, holding.born if holding else None)

    def _renews(self, way: VariablePath, frame: FrameType) -> bool:
        """Report whether the program makes a variable's value from its last one."""
        key = frame.f_code, way.owner if is_a(way.owner, type) else None, way.name
        if key not in self._renewed:
            self._renewed[key] = any(renewing_lines(code, way.name) for code in _codes(way, frame))
        return self._renewed[key]

    def _place(self, way: VariablePath, frame: FrameType) -> tuple[str, CodeType]:
        return way.keeper or way.path, frame.f_code

    def _keeper(self, way: VariablePath, frame: FrameType, graph: str = "") -> str:
        """Return what keeps a value, and where, in words; "" for a plain variable without a graph."""
        what = (way.keeper or way.path) + graph if graph else way.keeper
        lines = self._lines(way, frame)[:LINES] if what else []
        if not lines:
            return what
        first, *others = lines
        file = first[0].co_filename.rpartition("/")[2]
        return " or ".join((f"{what}, {file}:{first[1]}", *(str(line) for _, line in others)))

    def _line(self, way: VariablePath, frame: FrameType) -> tuple[CodeType, int]:
        """Return the line that keeps a value, or the one that runs."""
        return (self._lines(way, frame) or [(frame.f_code, frame.f_lineno)])[0]

    def _lines(self, way: VariablePath, frame: FrameType) -> list[tuple[CodeType, int]]:
        """Return the lines of one file that add to a way's container or, if it has none, give its variable a value."""
        owner: Any = way.owner
        if type(owner) is dict:
            owner = owner.get("__name__")
        elif is_a(owner, type):
            owner = owner.__module__, owner.__qualname__
        key = (frame.f_code, owner, way.name, bool(way.keeper))
        if key not in self._found:
            find = adding_lines if way.keeper else setting_lines
            lines = [(code, line) for code in _codes(way, frame) for line in find(code, way.name)]
            self._found[key] = [each for each in lines if each[0].co_filename == lines[0][0].co_filename]
        return self._found[key]


def _codes(way: VariablePath, frame: FrameType) -> list[CodeType]:
    """Return the code that may give a way's variable a value, or add to its container."""
    return list(dict.fromkeys([*codes_of(frame.f_code), *codes_of(way.owner)]))
