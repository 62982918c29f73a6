"""Which of the program's lists and dicts grow, and what they take of the host's memory.

Sizes are estimates: some of the newest entries are weighed, and the others are taken to weigh as much. Only values of
Python's own types, tensors and numpy's arrays are weighed, so no code of the program runs.
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice
from mmap import mmap
from types import FrameType
from typing import Any, Callable, NamedTuple

import torch

from ..memory.registry import storage_of
from ..safety.inspection import CONTAINERS, container_of
from ..safety.threads import touches
from .paths import ITEM, VariablePath

LEAST = 32  # entries of a container that is told
MOST = 4  # containers that are told
WEIGHED, DEPTH = 8, 3  # entries of a container that are weighed, and how deep
_KNOWN = 4096  # containers whose lengths are remembered
_TENSORS = (torch.Tensor, torch.nn.Parameter)
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), bool)


class Kept(NamedTuple):
    """A container that has grown since an earlier look, with about so many bytes in its entries."""

    name: str  # its path, and the line that adds to it
    bytes: int
    entries: int


@touches
class Containers:
    """It belongs to the training thread; any thread may read `kept`."""

    def __init__(self) -> None:
        self.kept: tuple[Kept, ...] = ()  # the largest first; replaced, never changed
        self._lengths: dict[tuple[str, int], int] = {}  # at the first look, by path and code
        self._found: list[tuple[VariablePath, FrameType]] = []  # within a look

    def note(self, way: VariablePath, frame: FrameType) -> None:
        """Note a value that a look has found, if it is a container."""
        if container_of(way.value) in (list, dict, set, deque):
            self._found.append((way, frame))

    def forget(self) -> None:
        """Keep no value and no frame of the program."""
        self._found.clear()

    def settle(self, name_of: Callable[[VariablePath, FrameType], str]) -> None:
        """End a look: find out which containers have grown."""
        found, self._found = self._found, []
        grown = []
        for way, frame in found:
            key, length = (way.path, id(frame.f_code)), _length(way.value)
            if key not in self._lengths and len(self._lengths) == _KNOWN:
                continue
            if length > self._lengths.setdefault(key, length) and length >= LEAST:
                grown.append((weight(way.value), length, way, frame))
        grown.sort(key=lambda each: -each[0])
        self.kept = tuple(
            Kept(name_of(way._replace(value=None, path=way.path + ITEM), frame), size, length)
            for size, length, way, frame in grown[:MOST]
        )


@touches
def weight(value: Any, depth: int = DEPTH) -> int:
    """Return about how many bytes a value takes, with what it holds; 0 if it is of another kind."""
    kind = type(value)
    if kind in _TENSORS:
        return int(storage_of(value)[0].nbytes()) if value.device.type == "cpu" else 0
    if kind in _PLAIN or kind is _array_type():
        return sys.getsizeof(value)
    if kind is mmap:
        return mmap.__len__(value) if not value.closed else 0
    if container_of(value) is None:
        return 0
    size = sys.getsizeof(value) if kind in CONTAINERS else 0
    length = _length(value)
    if not depth or not length:
        return size
    newest = [weight(entry, depth - 1) for entry in islice(_newest(value), WEIGHED)]
    return size + length * sum(newest) // max(1, len(newest))


def _length(value: Any) -> int:
    """Return the number of entries."""
    return int(container_of(value).__len__(value))


def _newest(value: Any) -> Any:
    """Return the entries, the newest first if they have an order."""
    kind = container_of(value)
    if kind is dict:
        return reversed(dict.values(value))
    return (kind.__reversed__ if kind in (list, deque) else kind.__iter__)(value)


def _array_type() -> Any:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else vars(numpy).get("ndarray")
