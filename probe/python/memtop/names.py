"""What a program's own variables hold: names for tensors that no layer made, and the lines that keep them.

From the frames of the program that are running, it follows local and global
variables, containers and attributes to tensors. What it finds first by a name is
called by it, with "[…]" for any place in a container, so that all that one list
keeps has one name. Where a tensor has no known origin, its line is the one that
puts things under that name, such as that of `history.append(x)`.
"""

from __future__ import annotations

import dis
import types
from collections import deque
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch

from .registry import OTHER, Registry
from .stacks import Stacks, place_of

DEEPEST = 4  # from a variable to a tensor
MOST = 20_000  # values that are looked at each time
ADDING = frozenset(("append", "extend", "add", "insert", "update", "setdefault", "appendleft"))


class Names:
    """Names tensors. It belongs to the thread that trains, calls nothing of the program's and keeps none of its values."""

    def __init__(self, registry: Registry, stacks: Stacks) -> None:
        self._registry = registry
        self._stacks = stacks
        self._lines: dict[tuple[int, str], tuple[CodeType, int]] = {}

    def show(self, frame: FrameType | None) -> None:
        """Show the registry what the program's frames hold, from that one outwards."""
        left = MOST
        frame = place_of(frame)
        while frame is not None and left > 0:
            left = self._walk(frame, frame.f_locals, left)
            if frame.f_locals is not frame.f_globals and frame.f_back is None:
                left = self._walk(frame, frame.f_globals, left)
            frame = place_of(frame.f_back)

    def _walk(self, frame: FrameType, variables: Any, left: int) -> int:
        """Follow variables to tensors, those with the shortest way first; return how many values may still be looked at."""
        todo: deque[tuple[Any, str, str, Any, int]] = deque(
            (value, name, name, frame.f_code, DEEPEST) for name, value in list(variables.items()) if not name.startswith("__")
        )
        seen: set[int] = set()
        while todo and left > 0:
            value, path, name, code, depth = todo.popleft()
            left -= 1
            if isinstance(value, torch.Tensor):
                self._name(value, path, name, code, frame)
            elif depth and id(value) not in seen:
                seen.add(id(value))
                todo.extend((inner, path + way, key or name, owner or code, depth - 1) for inner, way, key, owner in inside(value))
        return left

    def _name(self, tensor: Any, path: str, name: str, code: Any, frame: FrameType) -> None:
        if self._registry.find(tensor) is None:
            line = self._line(code, name)
            stack = self._stacks.of_line(*line) if line else self._stacks.of_line(frame.f_code, frame.f_lineno)
            self._registry.see(tensor, "activation" if tensor.grad_fn is not None else OTHER, role=path, stack=stack)

    def _line(self, owner: Any, name: str) -> tuple[CodeType, int] | None:
        """Return where something is put under a name: in a function, or in a class's methods."""
        codes = [owner] if isinstance(owner, CodeType) else [f.__code__ for f in vars(owner).values() if isinstance(f, types.FunctionType)]
        for code in codes:
            key = (id(code), name)
            if key not in self._lines:
                self._lines[key] = (code, adding_line(code, name))
            if self._lines[key][1]:
                return self._lines[key]
        return None


def inside(value: Any) -> Iterator[tuple[Any, str, str, Any]]:
    """Yield what a value holds, each with the way there and, for an attribute, its name and the class it is of."""
    kind = type(value)
    if kind in (list, tuple, set, deque, frozenset):
        yield from ((item, "[…]", "", None) for item in list(value)[-MOST:])
    elif isinstance(value, dict):
        yield from ((item, "[…]", "", None) for item in list(value.values()))
    elif not isinstance(value, (type, types.ModuleType, types.FunctionType, torch.nn.Module, torch.optim.Optimizer)):
        fields = getattr(value, "__dict__", None) if kind.__getattribute__ is object.__getattribute__ else None
        if isinstance(fields, dict):
            yield from ((item, "." + name, name, kind) for name, item in list(fields.items()))


def adding_line(code: CodeType, name: str) -> int:
    """Return the line of a function where something is added to a variable or attribute of that name, 0 if there is none."""
    line, loaded = 0, False
    for step in dis.get_instructions(code):
        line = getattr(step, "line_number", None) or step.starts_line or line if not isinstance(step.starts_line, bool) else step.line_number
        if step.opname.startswith(("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")):
            loaded = name in (step.argval if isinstance(step.argval, tuple) else (step.argval,))
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if loaded and step.argval in ADDING:
                return line
            loaded = step.argval == name
        elif step.opname == "STORE_SUBSCR" and loaded:
            return line
    return 0
