"""Which libraries took memory of the driver: what the library of `memtop run --driver-calls` has noted.

It notes addresses of code. The files that they belong to are found here, from the list of the process's mappings,
which is read only when a new caller has appeared.
"""

from __future__ import annotations

import ctypes
import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ..link.descriptors import read
from ..link.program import Json

KINDS = ("device", "pool", "created", "managed", "imported", "pinned")
PYTORCH = "libc10_cuda.so"  # has PyTorch's allocator
_MOST = 1024  # callers
_MAPPING = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) ..x. \S+ \S+ \S+ +(/.*)$", re.M)


class Taken(NamedTuple):
    """What a library has taken and not given back, of a kind and of a device: -1 is the host."""

    library: str
    device: int
    kind: str
    bytes: int
    inside: int  # of them, in the segments of PyTorch's allocator
    rounding: int  # what the driver adds to whole pages
    number: int  # of allocations

    def json(self) -> Json:
        """Return it as the ledger of a device has it."""
        return {name: value for name, value in self._asdict().items() if value and name != "device"}


class _Range(ctypes.Structure):
    _fields_ = [("start", ctypes.c_size_t), ("size", ctypes.c_uint64)]


class _Row(ctypes.Structure):
    _fields_ = [
        ("caller", ctypes.c_size_t), ("device", ctypes.c_int32), ("kind", ctypes.c_int32), ("bytes", ctypes.c_uint64),
        ("inside", ctypes.c_uint64), ("rounding", ctypes.c_uint64), ("count", ctypes.c_uint64),
    ]  # fmt: skip


class _State(ctypes.Structure):
    _fields_ = [("lost", ctypes.c_uint64), ("unwatched", ctypes.c_uint64), ("before", ctypes.c_uint64 * 64)]


class Callers:
    """What the library notes. One thread at a time may ask."""

    def __init__(self) -> None:
        """Raise an AttributeError if the program has not loaded the library."""
        program = ctypes.CDLL(None)
        self._sum = program.memtop_callers
        self._sum.restype = ctypes.c_size_t
        self._state = _State.in_dll(program, "memtop_callers_state")
        self._rows = (_Row * _MOST)()
        self._files: tuple[list[int], list[int], list[str]] = ([], [], [])  # of code: begins, ends, names
        self._names: dict[int, str] = {}

    @property
    def lost(self) -> int:
        """How many calls were not noted, and functions not followed."""
        return int(self._state.lost + self._state.unwatched)

    def before(self, device: int) -> int:
        """Return how many bytes of a device were in use when this program first took some: its context, and what
        others had. 0 if that is not known."""
        return int(self._state.before[device])

    def taken(self, segments: Sequence[tuple[int, int]] = ()) -> list[Taken]:
        """Return what is taken now. `segments` are addresses and sizes of PyTorch's, in ascending order."""
        ranges = (_Range * len(segments))(*(_Range(*segment) for segment in segments))
        count = self._sum(ranges, ctypes.c_size_t(len(segments)), self._rows, ctypes.c_size_t(_MOST))
        rows = self._rows[:count]
        sums: dict[tuple[str, int, str], list[int]] = {}
        for row in rows:
            key = self._library(row.caller), row.device, KINDS[row.kind]
            values = sums.setdefault(key, [0, 0, 0, 0])
            for i, value in enumerate((row.bytes, row.inside, row.rounding, row.count)):
                values[i] += value
        return [Taken(*key, *values) for key, values in sorted(sums.items())]

    def _library(self, caller: int) -> str:
        if caller not in self._names:
            self._read()
            begins, ends, names = self._files
            at = bisect_right(begins, caller) - 1
            self._names[caller] = names[at] if at >= 0 and caller < ends[at] else ""
        return self._names[caller]

    def _read(self) -> None:
        found = _MAPPING.findall(read("/proc/self/maps"))
        self._files = (
            [int(begin, 16) for begin, _, _ in found],
            [int(end, 16) for _, end, _ in found],
            [os.path.basename(os.fsdecode(path)) for _, _, path in found],
        )
