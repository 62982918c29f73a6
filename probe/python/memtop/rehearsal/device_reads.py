"""Values that a rehearsed program reads from the device.

No device has computed them, but a size or a branch may depend on them. A loop that waits for a value
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

from .. import FOLDER
from ..safety.interrupts import ignored
from . import given_values
from .elements import put

MOST = 1000  # the most lines that are counted separately
TEXT = 200  # characters of a line that are reported
WAITING = 5_000  # after so many reads of one line in a step, the program is assumed to wait for a value
TURNS = 64  # of so many conditions that a line reads in a step, one is the opposite of the others, so that loops end

SIZE = "size"  # the number of rows that an operation returns
INTEGER = "integer"  # may become a size
CONDITION = "condition"
NUMBER = "number"  # fractional: may decide a branch
VALUES = "values"  # several, or of an unknown type

_Line = tuple[str, int]


@dataclass
class Operation:
    """The operation that reads in this thread now, and the value that it should read."""

    kind: str
    answer: int | None = None  # None for a value from the device
    most: int | None = None  # the largest possible answer
    at_most: int | None = None  # the bytes that the operation returns with that answer
    type: str | None = None  # PyTorch's name of the type
    noted: bool = True
    certain: bool = False  # the answer is what a device would give
    address: int = 0  # of the value that is read, 0 if it is not known


@dataclass
class _Count:
    """What is known about a line."""

    kind: str
    times: int = 0
    earlier: int = 0  # those of them in earlier steps
    furthest: int = 0  # the highest address that was read in this step
    waited: int = 0  # reads in this step that went no further: a loop that waits reads the same addresses again
    size: int = 0  # bytes of the largest read
    at_most: int | None = None
    given: bool = False


class Reads:
    """Counts reads by the line of the program that made them. The imitation calls it in the thread that reads."""

    def __init__(self, waits: Callable[[], None]) -> None:
        self._waits = waits  # is called when the program seems to wait for a value
        self._lines: dict[_Line, _Count] = {}
        self._given = given_values.values()
        self._ones = given_values.ones()
        self._thread = threading.local()
        self.twins = False  # what the program copied to the device is known without the imitation
        self._callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)(self._read)

    def begin(self) -> None:
        """Begin, if the library that imitates the GPU is loaded in this process."""
        with ignored(AttributeError):
            ctypes.CDLL(None).memtop_imitation_on_read(self._callback)

    @contextlib.contextmanager
    def during(self, operation: Operation) -> Iterator[None]:
        """Attribute this thread's reads to an operation. Reads inside an operation that counts belong to that one."""
        outer: Operation | None = getattr(self._thread, "operation", None)
        settled = outer is not None and outer.answer is not None and operation.answer is None
        counted = outer is not None and (not outer.noted or outer.certain or settled)
        self._thread.operation = outer if counted else operation
        try:
            yield
        finally:
            self._thread.operation = outer

    def answering(self) -> bool:
        """Report whether this thread's reads are answered by what ranks sent."""
        operation: Operation | None = getattr(self._thread, "operation", None)
        return operation is not None and not operation.noted

    def _read(self, address: int, size: int, known: int) -> None:
        operation: Operation | None = getattr(self._thread, "operation", None)
        if operation is not None and operation.certain:
            chosen = given_values.at(self._given, *_line(sys._getframe(1))) if self._given else None
            put(address, size, operation.answer if chosen is None else chosen, operation.type)
            return
        if operation is not None and not operation.noted:
            if not known:
                put(address, size, operation.answer, operation.type)
            return
        if known and self.twins:
            ctypes.memset(address, 0, size)
            known = 0
        line = _line(sys._getframe(1) if sys._getframe().f_back else None)
        chosen = given_values.at(self._given, *line)
        if known and chosen is None and (operation is None or operation.answer is None):
            return
        turns = self._count(line, size, operation, chosen is not None)
        if chosen is not None:
            most = operation.most if operation else None
            put(address, size, chosen if most is None else min(chosen, most), operation.type if operation else None)
        elif operation is not None and operation.answer is not None:
            put(address, size, operation.answer)
        elif turns != self._ones:
            put(address, size, 1, operation.type if operation else None)

    def _count(self, line: _Line, size: int, operation: Operation | None, chosen: bool) -> bool:
        """Count a read. Report whether its condition is the opposite of the others of its line."""
        kind = operation.kind if operation else CONDITION if size == 1 else VALUES
        if line not in self._lines and len(self._lines) >= MOST:
            return False
        count = self._lines.setdefault(line, _Count(kind))
        if kind == SIZE:
            count.kind = kind  # a size matters most
            count.at_most = max(count.at_most or 0, operation.at_most or 0) if operation else None
        count.times += 1
        count.size = max(count.size, size)
        count.given |= chosen
        address = operation.address if operation else 0
        if address > count.furthest:
            count.furthest = address
        else:
            count.waited += 1
        if count.waited >= WAITING:
            self._waits()
        return kind == CONDITION and (count.times - count.earlier) % TURNS == 0

    def stepped(self) -> None:
        """Note that a step has ended: no line has waited for ever."""
        for count in self._lines.values():
            count.earlier = count.times
            count.furthest = count.waited = 0

    def found(self) -> list[dict[str, Any]]:
        """Return the lines, those with the most reads first."""
        rows = sorted(self._lines.items(), key=lambda row: -row[1].times)
        return [
            {
                "line": f"{os.path.basename(file)}:{number}",
                "what": linecache.getline(file, number).strip()[:TEXT],
                "kind": count.kind,
                "count": count.times,
                "bytes": count.size,
                "at_most_bytes": count.at_most,
                "given": count.given,
            }
            for (file, number), count in rows
            if number
        ]


def place(frame: Any) -> str:
    """Return the innermost line outside PyTorch and the agent as FILE:NUMBER, "" if there is none."""
    file, number = _line(frame)
    return f"{os.path.basename(file)}:{number}" if number else ""


def _line(frame: Any) -> _Line:
    """Return the innermost line outside PyTorch and the agent, or "" and 0 if there is none."""
    frame = outside(frame)
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def outside(frame: Any) -> Any:
    """Return the innermost frame outside PyTorch and the agent, None if there is none."""
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH, FOLDER, "<frozen")):
        frame = frame.f_back
    return frame


_TORCH = os.path.dirname(torch.__file__) + os.sep
