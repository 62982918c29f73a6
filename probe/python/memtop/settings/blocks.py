"""The blocks of a model: modules of the same class beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from torch.nn import ModuleDict, ModuleList, Sequential

from ..safety.threads import touches

CONTAINERS = (ModuleDict, ModuleList, Sequential)


@touches
def blocks_of(model: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the outermost blocks of a model, each with the modules around it, the model first. They are those children
    of a module that share their class with another child. Of a container, its own children are, if there are such."""
    yield from _inside(model, (model,), set())


@touches
def _inside(module: Any, within: tuple[Any, ...], seen: set[int]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    children = [child for child in module._modules.values() if child is not None]
    classes = Counter(type(child) for child in children)
    for child in children:
        if id(child) in seen:
            continue
        seen.add(id(child))
        # A module without children saves little beyond its inputs.
        is_block = classes[type(child)] > 1 and child._modules
        if is_block and not isinstance(child, CONTAINERS):
            yield child, within
            continue
        inside = list(_inside(child, (*within, child), seen))
        if is_block and not inside and isinstance(child, Sequential) and not isinstance(module, CONTAINERS):
            yield child, within
        yield from inside
