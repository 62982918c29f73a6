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
from typing import Any, Callable

import torch

MOST = 1000  # lines that are told apart
WAITING = 5_000  # reads of one line within a step, after which the program is taken to wait there
HOLDS = 64  # one in so many conditions of a line within a step is taken to hold, so that loops end

_Line = tuple[str, int]


class Reads:
    """Counts reads by the line of the program that made them. The imitation calls it in the thread that reads."""

    def __init__(self, waits: Callable[[], None]) -> None:
        self._waits = waits  # is called when the program does
        self._lines: dict[
            _Line, list[int]
        ] = {}  # how many reads, those of them in earlier steps, and the bytes of the largest
        self._callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_int)(self._read)

    def begin(self) -> None:
        """Begin, if the library that imitates the GPU is in this process."""
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).memtop_imitation_on_read(self._callback)

    def _read(self, size: int, known: int) -> int:
        """Return what a condition is taken for."""
        if known:
            return 0
        line = _line(sys._getframe(1) if sys._getframe().f_back else None)
        counts = self._lines.get(line)
        if counts is None:
            if len(self._lines) >= MOST:
                return 0
            counts = self._lines.setdefault(line, [0, 0, 0])
        counts[0] += 1
        counts[2] = max(counts[2], size)
        within = counts[0] - counts[1]
        if within >= WAITING:
            self._waits()
        return int(size == 1 and within % HOLDS == 0)

    def stepped(self) -> None:
        """Note that a step has ended, so that nothing has waited for ever."""
        for counts in self._lines.values():
            counts[1] = counts[0]

    def found(self) -> list[dict[str, Any]]:
        """Return the lines, those that read most often first."""
        rows = sorted(self._lines.items(), key=lambda row: -row[1][0])
        return [
            {
                "line": f"{os.path.basename(file)}:{number}",
                "what": linecache.getline(file, number).strip(),
                "count": count,
                "bytes": size,
            }
            for (file, number), (count, _, size) in rows
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
