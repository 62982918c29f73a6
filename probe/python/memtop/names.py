"""Tensors in the program's own variables: names for tensors that no layer made, and the lines that keep them.

From the running frames of the program, this follows local and global variables, containers and
attributes to tensors. A tensor's name is the first path that leads to it, with "[…]" for any place
in a container, so that everything that one list keeps has one name. If the origin of a tensor is not
known, its line is the one that adds to that container, such as `history.append(x)`.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections import deque
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from .registry import OTHER, Registry
from .stacks import Stacks, place_of, variables_of
from .threads import touches

DEEPEST = 4  # steps from a variable to a tensor
MOST = 20_000  # the most values that are visited each time
PLAIN: Any = object.__getattribute__  # classes with this attribute run no code of their own when an attribute is read
LOADING = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
ADDING = frozenset(("append", "extend", "add", "insert", "update", "setdefault", "appendleft"))


class Way(NamedTuple):
    """A value, and the path that led to it."""

    value: Any
    path: str
    name: str  # of the last variable or attribute on the path
    owner: Any  # the function or class that has this variable or attribute
    left: int  # how many steps it may still go


class Names:
    """Names tensors. It belongs to the training thread, and keeps no value of the program."""

    def __init__(self, registry: Registry, stacks: Stacks) -> None:
        self._registry = registry
        self._stacks = stacks
        self._lines: dict[tuple[int, str], tuple[CodeType, int]] = {}

    @touches
    def show(self, frame: FrameType | None) -> None:
        """Show the registry what the program's frames hold, from `frame` outwards."""
        left = MOST
        frame = place_of(frame)
        while frame is not None and left > 0:
            outer = place_of(frame.f_back)
            local = frame.f_code.co_flags & inspect.CO_OPTIMIZED
            left = self._walk(frame, variables_of(frame), left, frame.f_code if local else frame.f_globals)
            if outer is None and local:
                left = self._walk(frame, frame.f_globals, left, frame.f_globals)
            frame = outer

    @touches
    def _walk(self, frame: FrameType, variables: Any, left: int, owner: Any) -> int:
        """Follow variables to tensors, the nearest first. Return how many values may still be visited."""
        own = [(name, value) for name, value in list(variables.items()) if not name.startswith("__")]
        todo = deque(Way(value, name, name, owner, DEEPEST) for name, value in own)
        seen: set[int] = set()
        while todo and left > 0:
            way = todo.popleft()
            left -= 1
            if isinstance(way.value, torch.Tensor):
                self._name(way, frame)
            elif way.left and id(way.value) not in seen:
                seen.add(id(way.value))
                todo.extend(inside(way))
        return left

    @touches
    def _name(self, way: Way, frame: FrameType) -> None:
        if self._registry.find(way.value) is None:
            code, line = self._line([frame.f_code, *codes_of(way.owner)], way.name) or (frame.f_code, frame.f_lineno)
            category = OTHER if way.value.is_leaf else "activation"
            self._registry.see(way.value, category, role=way.path, stack=self._stacks.of_line(code, line))

    def _line(self, codes: list[CodeType], name: str) -> tuple[CodeType, int] | None:
        """Return the line in one of these functions that adds to a variable or attribute of this name."""
        for code in codes:
            key = (id(code), name)
            if key not in self._lines:
                self._lines[key] = (code, adding_line(code, name))
            if self._lines[key][1]:
                return self._lines[key]
        return None


def codes_of(owner: Any) -> list[CodeType]:
    """Return the code that may add to a name's value: a function, or the functions of a class or a module."""
    if isinstance(owner, CodeType):
        return [owner]
    names = list((owner if isinstance(owner, dict) else vars(owner)).values())
    codes = [f.__code__ for f in names if isinstance(f, types.FunctionType)]
    if isinstance(owner, dict):
        own = [kind for kind in names if isinstance(kind, type) and kind.__module__ == owner.get("__name__")]
        codes += [code for kind in own for code in codes_of(kind)]
    return codes


def inside(way: Way) -> Iterator[Way]:
    """Yield the values that a value holds, without calling the program's code."""
    value, kind = way.value, type(way.value)
    if kind in (list, tuple, set, deque, frozenset):
        items = list(value)[-MOST:]
    elif isinstance(value, dict):
        items = list(value.values())[-MOST:]
    elif isinstance(value, types.FunctionType):
        kept = way.path.endswith("[…]")  # the container that keeps the function also keeps its variables
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            by, owner = (way.name, way.owner) if kept else (name, value.__code__)
            if cell != types.CellType():  # the cell has a value
                yield Way(cell.cell_contents, f"{way.path}.{name}", by, owner, way.left - 1)
        return
    else:
        opaque = (type, types.ModuleType, torch.nn.Module, torch.optim.Optimizer)
        plain = not isinstance(value, opaque) and getattr(kind, "__getattribute__", None) is PLAIN
        fields = getattr(value, "__dict__", None) if plain else None
        for name, item in list(fields.items()) if isinstance(fields, dict) else []:
            yield Way(item, f"{way.path}.{name}", name, kind, way.left - 1)
        return
    for item in items:
        yield Way(item, way.path + "[…]", way.name, way.owner, way.left - 1)


def adding_line(code: CodeType, name: str) -> int:
    """Return the line of a function that adds to a variable or attribute of this name, 0 if there is none."""
    lines = dict(dis.findlinestarts(code))
    line, loaded, loaded_at = 0, False, -1
    for step in dis.get_instructions(code):
        line = lines.get(step.offset) or line
        if step.opname.startswith(LOADING):
            loaded = name in (step.argval if isinstance(step.argval, tuple) else (step.argval,))
            loaded_at = line if loaded else loaded_at
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if loaded and step.argval in ADDING:
                return line
            loaded = step.argval == name
            loaded_at = line if loaded else loaded_at
        elif step.opname == "STORE_SUBSCR" and line == loaded_at:
            return line
    return 0
