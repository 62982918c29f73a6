"""A check of the order in which the agent's locks are taken: if one thread takes A and then B, none takes B and then A.
Two threads that do so wait for each other forever, on a day when both are in between."""

from __future__ import annotations

import sys
import threading
from typing import Any

_make = {name: getattr(threading, name) for name in ("Lock", "RLock")}
_held = threading.local()
_after: dict[str, dict[str, str]] = {}  # by lock, those that were taken after it, each with where


class Ordered:
    """A lock that notes which others its thread holds when it waits for it."""

    def __init__(self, kind: str, place: str) -> None:
        self._lock = _make[kind]()
        self._place = place

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        held = _held.__dict__.setdefault("locks", [])
        if blocking and self not in held:
            caller = sys._getframe(1 if sys._getframe(1).f_code.co_name != "__enter__" else 2)
            for lock in held:
                if lock._place != self._place:
                    _after.setdefault(lock._place, {}).setdefault(self._place, _line(caller))
        if not self._lock.acquire(blocking, timeout):
            return False
        held.append(self)
        return True

    def release(self) -> None:
        self._lock.release()
        locks = _held.__dict__.get("locks", [])
        if self in locks:
            locks.reverse()
            locks.remove(self)  # the innermost
            locks.reverse()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _line(frame: Any) -> str:
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def install() -> None:
    """Have the agent's modules make such locks from now on."""

    def factory(kind: str) -> Any:
        def make() -> Any:
            caller = sys._getframe(1)
            if not str(caller.f_globals.get("__name__")).startswith("memtop."):
                return _make[kind]()
            return Ordered(kind, _line(caller))

        return make

    for kind in _make:
        setattr(threading, kind, factory(kind))


def circles(after: dict[str, dict[str, str]] = _after) -> list[str]:
    """Return the pairs of locks that were taken in both orders, perhaps over others, each with where."""
    found = []
    for first in after:
        seen, open = set[str](), [first]
        while open:
            for then, where in after.get(open.pop(), {}).items():
                if then == first:
                    found.append(
                        f"{first} is taken again at {where}, after locks that are taken after it: {after[first]}"
                    )
                elif then not in seen:
                    seen.add(then)
                    open.append(then)
    return found
