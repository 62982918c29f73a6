"""All objects that Python's garbage collector knows, by their types, while no other thread runs.

The collector also knows tuples that are still being filled. Filling one fails, in whatever
thread that is, when another reference to it is there: all references must be gone before
that thread goes on. A thread gives up Python's global lock only between two instructions,
so everything here is one call of C code, which goes through iterators that are C code too.
Nothing of the objects is called.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterable
from itertools import chain, compress, islice
from typing import Any, Callable

from .threads import is_only_one


def types() -> list[type]:
    """Return the types that there are objects of."""
    found: dict[int, type] = {}
    _go_through(lambda every: map(found.__setitem__, map(id, map(type, every)), map(type, every)))
    return list(found.values())


def instances(of: Iterable[type]) -> list[Any]:
    """Return the objects of exactly these types."""
    wanted = frozenset(map(id, of))
    found: list[Any] = []
    _go_through(lambda every: map(found.append, compress(every, map(wanted.__contains__, map(id, map(type, every))))))
    return found


def _go_through(visit: Callable[[list[Any]], Iterable[object]]) -> None:
    """Consume what `visit` makes of the list of all objects, which is filled right before and empty again after."""
    every: list[Any] = []
    filled = map(every.extend, islice(iter(gc.get_objects, None), 1))
    deque(chain(filled, visit(every), map(list.clear, [every])), maxlen=0)


def is_alone() -> bool:
    """Report whether no other thread can run while these functions do: always with a global lock, else where the
    program has no thread but this one."""
    locked = getattr(sys, "_is_gil_enabled", None)
    return locked is None or locked() or is_only_one()
