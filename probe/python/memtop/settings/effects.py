"""The side effects of a forward: a second forward would repeat them."""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from ..hooks.graphs import nodes_in
from ..safety.interrupts import ignored
from ..safety.threads import touches
from .reach import Reach

_DEPTH = 4  # of containers in containers
_WIDTH = 256  # items of one container
_FIXED = (torch.nn.Module, FunctionType, MethodType, BuiltinFunctionType, ModuleType, type, property)
_BY_VALUE = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple, set, frozenset, deque)

PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Tensor, torch.dtype, torch.device, torch.Size)


@touches
class State:
    """The state that a forward may change besides its output."""

    def __init__(self, module: Any, reach: Reach) -> None:
        self._reach = reach
        self._random = random.getstate()
        self._numpy = _numpy_state()
        self._buffers = [(part, _buffers(part)) for part in module.modules()]
        self._marks = Marks()
        self._held = [value for _, value in reach.variables()]  # so that nothing new gets the place of an old value
        self._variables = self._marked(self._marks)

    def changes(self) -> str:
        """Return a description of what has changed, or of what cannot be compared, "" if there is nothing."""
        if self._random != random.getstate() or self._numpy != _numpy_state():
            return "it draws random numbers from Python or NumPy, and a second forward would draw others"
        for part, buffers in self._buffers:
            if buffers != _buffers(part) and not isinstance(part, torch.nn.modules.batchnorm._NormBase):
                return f"its {type(part).__name__} changes its buffers, and a second forward would change them again"
        if self._marks.strange:
            return f"it uses {self._marks.strange}, and a second forward would get others from it"
        if written := self._reach.written:
            return f"its code assigns {written}, which is outside of it, and a second forward would do so again"
        now = self._marked(Marks())
        changed = next((n for n in {**now, **self._variables} if now.get(n) != self._variables.get(n)), None)
        return f"it changes {changed[0]}, and a second forward would change it again" if changed else ""

    def _marked(self, marks: Marks) -> dict[tuple[str, int], Any]:
        return {(name, at): marks.of(value) for at, (name, value) in enumerate(self._reach.variables())}


class Marks:
    """Marks of values, which are equal if the values have not changed. Nothing of the program is executed."""

    def __init__(self) -> None:
        self.strange = ""  # a source of values that cannot be asked whether it has changed, "" if there is none
        self._known: dict[int, Any] = {}

    @touches
    def of(self, value: Any, depth: int = _DEPTH) -> Any:
        """Return the mark of a value and of what is in it."""
        kind = type(value)  # `isinstance` would ask the value for its class
        if kind in _BY_VALUE:
            return repr(value) if kind is float else value
        if issubclass(kind, torch.Tensor):
            return id(value), None if value.is_inference() else value._version
        if depth == 0 or issubclass(kind, _FIXED) or self._is_strange(kind):
            return id(value)
        known = self._known.get(id(value))
        if known is None:
            self._known[id(value)] = id(value)  # for a value that contains itself
            known = self._known[id(value)] = (id(value), tuple(self.of(item, depth - 1) for item in _items(value)))
        return known

    def _is_strange(self, kind: type) -> bool:
        if issubclass(kind, (torch.Generator, random.Random)) or kind.__module__.startswith("numpy.random"):
            self.strange = "a random number generator of its own"
        elif any("__next__" in vars(k) for k in kind.__mro__):
            self.strange = f"an iterator ({kind.__name__})"
        else:
            return False
        return True


def _items(value: Any) -> Iterator[Any]:
    """Yield the number of things that a container or an object holds, and these things, up to a limit."""
    kind = type(value)
    base = next((own for own in _CONTAINERS if issubclass(kind, own)), None)
    if base is dict:
        held = [*dict.keys(value), *dict.values(value)]
    elif base is not None:
        held = list(base.__iter__(value))
    else:
        held = []
        with ignored(AttributeError, TypeError):
            held = list(object.__getattribute__(value, "__dict__").values())
    return islice([len(held), *held], _WIDTH)


@touches
def _buffers(module: Any) -> list[tuple[int, int]]:
    return [(id(b), b._version) for b in module._buffers.values() if b is not None and not b.is_inference()]


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return None
    name, keys, *rest = numpy.get_state()
    return name, keys.tobytes(), rest


def _values(value: Any, depth: int = 4) -> Iterator[Any]:
    """Yield the values in nested containers."""
    if isinstance(value, (list, tuple, set)) and not isinstance(value, torch.Size) and depth:
        for item in value:
            yield from _values(item, depth - 1)
    elif type(value) is dict and depth:
        for item in value.values():
            yield from _values(item, depth - 1)
    else:
        yield value


def strange(given: Any) -> str:
    """Return the class of an argument, other than a tensor, that a forward may change, "" if there is none."""
    return next((type(value).__name__ for value in _values(given) if not isinstance(value, PLAIN)), "")


@touches
def custom_function(output: Any, entries: set[Any]) -> str:
    """Return the name of an autograd function that the program defines, between a block's input and output, or ""."""
    stack = list(nodes_in(output))
    known = set(stack) | entries
    while stack:
        node = stack.pop()
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return type(node).__name__
        for following, _ in node.next_functions:
            if following is not None and following not in known:
                known.add(following)
                stack.append(following)
    return ""
