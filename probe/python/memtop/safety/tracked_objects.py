"""All objects that Python's garbage collector tracks, of some types, without letting another thread run.

The collector also tracks tuples that a thread is still filling. Filling one fails if another reference
to it exists, so all references taken here must be gone before that thread runs again. A
thread gives up Python's global lock only between two instructions. So everything here is one call of C
code, going through iterators that are C code too. It calls no code of the objects.
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
    """Return all classes. They are found from each other, which is far quicker than going through the objects."""
    found: dict[int, type] = {}
    todo: list[type] = [object]
    while todo:
        kinds: list[type] = type.__subclasses__(todo.pop())
        for kind in kinds:
            if id(kind) not in found:
                found[id(kind)] = kind
                todo.append(kind)
    return list(found.values())


def instances(of: Iterable[type]) -> list[Any]:
    """Return the objects of exactly these types."""
    wanted = frozenset(map(id, of))
    found: list[Any] = []
    _go_through(lambda every: map(found.append, compress(every, map(wanted.__contains__, map(id, map(type, every))))))
    return found


def _go_through(visit: Callable[[list[Any]], Iterable[object]]) -> None:
    """Consume what `visit` makes of the list of all objects. The list is filled just before and emptied just after."""
    every: list[Any] = []
    filled = map(every.extend, islice(iter(gc.get_objects, None), 1))
    deque(chain(filled, visit(every), map(list.clear, [every])), maxlen=0)


def is_alone() -> bool:
    """Report whether no other thread can run during these functions: always true with a global lock, otherwise only if
    the program has no other thread."""
    locked = getattr(sys, "_is_gil_enabled", None)
    return locked is None or locked() or is_only_one()
