"""The side effects of a forward: a second forward would repeat them."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

import torch

from ..registry import tensors_in
from ..threads import touches

PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Tensor, torch.dtype, torch.device, torch.Size)


class State:
    """The state that a forward may change besides its output."""

    @touches
    def __init__(self, module: Any) -> None:
        self._random = random.getstate()
        self._numpy = _numpy_state()
        self._parts = [(part, _attributes(part), _buffers(part)) for part in module.modules()]

    @touches
    def changes(self, module: Any) -> str:
        """Return a description of what has changed, "" if nothing has."""
        if self._random != random.getstate() or self._numpy != _numpy_state():
            return "it draws random numbers from Python or NumPy, and a second forward would draw others"
        for part, attributes, buffers in self._parts:
            now = _attributes(part)
            changed = next((name for name in {**now, **attributes} if now.get(name) is not attributes.get(name)), "")
            if changed:
                return f"its {type(part).__name__} changes {changed}, and a second forward would change it again"
            if buffers != _buffers(part) and not isinstance(part, torch.nn.modules.batchnorm._NormBase):
                return f"its {type(part).__name__} changes its buffers, and a second forward would change them again"
        return ""


@touches
def _attributes(module: Any) -> dict[str, Any]:
    return {name: value for name, value in module.__dict__.items() if not isinstance(value, dict)}


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
    stack = [t.grad_fn for t in tensors_in(output) if t.grad_fn is not None]
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
