"""Values that a rehearsed program reads from the device.

Nothing computed them, and a size or a branch may depend on them. A loop that waits for one
may never end.
"""

from __future__ import annotations

import contextlib
import ctypes
import linecache
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

import torch

from . import given
from .elements import put

MOST = 1000  # lines that are told apart
WAITING = 5_000  # reads of one line within a step, after which the program is taken to wait there
HOLDS = 64  # one in so many conditions of a line within a step is taken to hold, so that loops end

SIZE = "size"  # how many rows an operation returns
INTEGER = "integer"  # it may become a size
CONDITION = "condition"
NUMBER = "number"  # with a fraction: it may decide a branch
VALUES = "values"  # several, or of a type that is not known

_Line = tuple[str, int]


@dataclass
class Operation:
    """What reads in this thread now, and what its value is."""

    kind: str
    answer: int | None = None  # None for what comes from the device
    most: int | None = None  # that the answer could be
    at_most: int | None = None  # bytes that the operation returns then
    type: str | None = None  # as PyTorch names it
    noted: bool = True


@dataclass
class _Count:
    """What is known of a line."""

    kind: str
    times: int = 0
    earlier: int = 0  # of them in earlier steps
    size: int = 0  # of the largest read, in bytes
    at_most: int | None = None
    given: bool = False


class Reads:
    """Counts reads by the line of the program that made them. The imitation calls it in the thread that reads."""

    def __init__(self, waits: Callable[[], None]) -> None:
        self._waits = waits  # is called when the program does
        self._lines: dict[_Line, _Count] = {}
        self._given = given.values()
        self._thread = threading.local()
        self._callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)(self._read)

    def begin(self) -> None:
        """Begin, if the library that imitates the GPU is in this process."""
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).memtop_imitation_on_read(self._callback)

    @contextlib.contextmanager
    def during(self, operation: Operation) -> Iterator[None]:
        """Have what this thread reads be read by an operation. What counts reads its count by others."""
        outer: Operation | None = getattr(self._thread, "operation", None)
        counted = outer is not None and outer.answer is not None and operation.answer is None
        self._thread.operation = outer if counted else operation
        try:
            yield
        finally:
            self._thread.operation = outer

    def _read(self, address: int, size: int, known: int) -> None:
        operation: Operation | None = getattr(self._thread, "operation", None)
        if operation is not None and not operation.noted:
            if not known:
                put(address, size, operation.answer, operation.type)
            return
        line = _line(sys._getframe(1) if sys._getframe().f_back else None)
        chosen = given.at(self._given, *line)
        if known and chosen is None and (operation is None or operation.answer is None):
            return
        holds = self._count(line, size, operation, chosen is not None)
        if chosen is not None:
            most = operation.most if operation else None
            put(address, size, chosen if most is None else min(chosen, most), operation.type if operation else None)
        elif operation is not None and operation.answer is not None:
            put(address, size, operation.answer)
        elif holds:
            put(address, size, 1)

    def _count(self, line: _Line, size: int, operation: Operation | None, chosen: bool) -> bool:
        """Report whether a condition is taken to hold."""
        kind = operation.kind if operation else CONDITION if size == 1 else VALUES
        if line not in self._lines and len(self._lines) >= MOST:
            return False
        count = self._lines.setdefault(line, _Count(kind))
        if kind == SIZE:
            count.kind = kind  # it matters most
            count.at_most = max(count.at_most or 0, operation.at_most or 0) if operation else None
        count.times += 1
        count.size = max(count.size, size)
        count.given |= chosen
        within = count.times - count.earlier
        if within >= WAITING:
            self._waits()
        return kind == CONDITION and within % HOLDS == 0

    def stepped(self) -> None:
        """Note that a step has ended, so that nothing has waited for ever."""
        for count in self._lines.values():
            count.earlier = count.times

    def found(self) -> list[dict[str, Any]]:
        """Return the lines, those that read most often first."""
        rows = sorted(self._lines.items(), key=lambda row: -row[1].times)
        return [
            {
                "line": f"{os.path.basename(file)}:{number}",
                "what": linecache.getline(file, number).strip(),
                "kind": count.kind,
                "count": count.times,
                "bytes": count.size,
                "at_most_bytes": count.at_most,
                "given": count.given,
            }
            for (file, number), count in rows
            if number
        ]


def _line(frame: Any) -> _Line:
    """Return the innermost line that is neither PyTorch's nor the agent's; no line where there is none."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_TORCH, _OWN, "<frozen")):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


_TORCH = os.path.dirname(torch.__file__) + os.sep
_OWN = os.path.dirname(__file__) + os.sep
