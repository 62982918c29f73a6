"""Tensors in the program's own variables: names for tensors that no layer made, and what keeps them.

From the running frames of the program, this follows local and global variables, containers, attributes and the
tracebacks of exceptions to tensors, and from tensors with a graph to what the graph keeps. A tensor's name is the
first path that leads to it. What lies in a container or hangs on a graph has a keeper: the path of the container or
of the graph's tensor, with the line of code that adds to it, such as `history.append(x)`. All that one keeper keeps
has one name, whatever step made it.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections import deque
from collections.abc import Iterable
from itertools import islice
from types import CodeType, FrameType
from typing import Any

import torch

from .containers import Containers
from .graphs import Graphs
from .models import Models
from .registry import OTHER, Holding, Registry
from .stacks import Stacks, place_of, variables_of
from .threads import touches
from .ways import DEEPEST, Way, adding_lines, codes_of, inside, setting_lines

MOST = 20_000  # the most values that are visited each time
GRAPHS_NS = 50_000_000  # the longest time for following graphs, each time
LINES = 3  # the most lines that are named
WITH_GRAPH = " with its graph"


class Names:
    """Names tensors. It belongs to the training thread, and keeps no value of the program."""

    def __init__(self, registry: Registry, stacks: Stacks, models: Models) -> None:
        self._registry = registry
        self._stacks = stacks
        self._models = models
        self._graphs = Graphs()
        self.containers = Containers()
        self._found: dict[
            tuple[Any, ...], list[tuple[CodeType, int]]
        ] = {}  # lines that keep, by where they are looked for
        self._named: set[int] = set()  # addresses that have got their name this time
        self._until = 0  # when following graphs ends
        self._follows = False

    @touches
    def show(self, frame: FrameType | None, still: bool = False) -> None:
        """Show the registry what the program's frames hold, from `frame` outwards. `still` says that no backward pass
        goes on meanwhile, though one may run."""
        self._named.clear()
        self._follows = still or self._graphs.may_follow()
        self._until = time.perf_counter_ns() + GRAPHS_NS
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
        self.containers.settle(lambda way, frame: self._keeper(way, frame, graph=False))

    @touches
    def _elsewhere(self) -> list[tuple[str, Any]]:
        """Return what neither a variable nor an attribute of one leads to: the models' own attributes, and the last
        exception that nobody caught."""
        modules = [(self._models.name(m) or "model", m) for model in self._models for m in model.modules()]
        return [*modules, ("sys.last_value", getattr(sys, "last_value", None))]

    @touches
    def _walk(self, frame: FrameType, variables: Iterable[tuple[str, Any]], left: int, owner: Any) -> int:
        """Follow variables to tensors, the nearest first. Return how many values may still be visited."""
        own = [(name, value) for name, value in list(variables) if not name.startswith("__")]
        todo = deque(Way(value, name, name, owner, DEEPEST) for name, value in own)
        seen: set[int] = set()
        while todo and left > 0:
            way = todo.popleft()
            left -= 1
            node = self._graphs.root(way.value)
            if isinstance(way.value, torch.Tensor):
                self._name(way, frame, node)
            elif node is not None:
                self._follow(way, frame, node)
            elif way.left and id(way.value) not in seen:
                seen.add(id(way.value))
                self.containers.note(way, frame)
                todo.extend(islice(inside(way), max(0, left - len(todo))))  # no more than are visited
        return left

    @touches
    def _name(self, way: Way, frame: FrameType, node: Any) -> None:
        holding = self._registry.find(way.value)
        if holding is not None and holding.address in self._named:
            return
        graph = node is not None and self._follow(way, frame, node, holding)
        keeper = self._keeper(way, frame, graph)
        if holding is None or keeper not in ("", holding.keeper):
            category = OTHER if node is None and way.value.is_leaf else "activation"
            role = "" if keeper else way.path
            stack = self._stacks.of_line(*self._line(way, frame))
            holding = self._registry.see(way.value, category, role=role, stack=stack, keeper=keeper)
        if holding is not None:
            self._named.add(holding.address)

    @touches
    def _follow(self, way: Way, frame: FrameType, node: Any, tensor: Holding | None = None) -> bool:
        """Show what a graph keeps. Report whether it keeps anything."""
        keeps = tensor is not None and WITH_GRAPH in tensor.keeper
        if not self._follows or self._graphs.knows(node):
            return keeps
        keeper, stack = "", 0

        def show(saved: Any, what: str) -> None:
            nonlocal keeps, keeper, stack
            if not keeper:
                keeper, stack = self._keeper(way, frame, True), self._stacks.of_line(*self._line(way, frame))
            category = "parameter" if saved.requires_grad and saved.is_leaf else "activation"
            known = self._registry.see(saved, category, role=what, stack=stack, keeper=keeper)
            if known is not None and known.keeper:
                self._named.add(known.address)
                keeps = True

        self._graphs.follow(node, show, self._until)
        return keeps

    def _keeper(self, way: Way, frame: FrameType, graph: bool) -> str:
        """Return what keeps a value, and where, in words; "" for a plain variable."""
        what = (way.keeper or way.path) + WITH_GRAPH if graph else way.keeper
        lines = self._lines(way, frame)[:LINES] if what else []
        if not lines:
            return what
        first, *others = lines
        file = first[0].co_filename.rpartition("/")[2]
        return " or ".join((f"{what}, {file}:{first[1]}", *(str(line) for _, line in others)))

    def _line(self, way: Way, frame: FrameType) -> tuple[CodeType, int]:
        """Return the line that keeps a value, or the one that runs."""
        return (self._lines(way, frame) or [(frame.f_code, frame.f_lineno)])[0]

    def _lines(self, way: Way, frame: FrameType) -> list[tuple[CodeType, int]]:
        """Return the lines of one file that add to a way's container or, if it has none, give its variable a value."""
        owner: Any = way.owner
        if isinstance(owner, dict):
            owner = owner.get("__name__")
        elif isinstance(owner, type):
            owner = owner.__module__, owner.__qualname__
        key = (frame.f_code, owner, way.name, bool(way.keeper))
        if key not in self._found:
            find = adding_lines if way.keeper else setting_lines
            codes = dict.fromkeys([*codes_of(frame.f_code), *codes_of(way.owner)])
            lines = [(code, line) for code in codes for line in find(code, way.name)]
            self._found[key] = [each for each in lines if each[0].co_filename == lines[0][0].co_filename]
        return self._found[key]
