"""The tensors in the processor's memory of a program that trains on a device: how many bytes, for what, and what keeps
them. Their events are of no interest to viewers of the device, so only sums are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..link.queue import Link
from .registry import KEEPABLE, Holding, Registry
from .stacks import Stacks

MOST = 16_384  # storages that are followed
SHOWN = 8  # places that are told


class Place(NamedTuple):
    """Tensors of one purpose that one line or container keeps."""

    name: str  # the container or variable with its line, "" where the category says all
    category: str
    bytes: int
    entries: int


class HostTensors:
    """The sink of a registry of its own, whose lock guards it. Any thread may ask for `total` and `places`."""

    stacks = False

    def __init__(self, link: Link, stacks: Stacks) -> None:
        self.registry = Registry(self, stacks)
        self._bytes = 0
        self._link = link
        self._counted: dict[int, tuple[str, str, int]] = {}  # by address, what it counts under
        self._sums: dict[tuple[str, str, int], list[int]] = {}  # bytes and storages by category, keeper and line

    def wanted(self, device: Any) -> bool:
        """Report whether the registry should follow memory of this device."""
        return bool(device.type == "cpu") and len(self._counted) < MOST

    def born(self, holding: Holding) -> None:
        """Count a new storage."""
        key = holding.category, "", 0
        if holding.category in KEEPABLE:
            key = holding.category, holding.keeper or holding.role, 0 if holding.keeper else holding.stack
        self._counted[holding.address] = key
        self._add(key, holding.size, 1)

    def changed(self, holding: Holding) -> None:
        """Count a storage under what is newly known of it."""
        self.died(holding)
        self.born(holding)

    def died(self, holding: Holding) -> None:
        """Stop counting a storage."""
        self._add(self._counted.pop(holding.address), -holding.size, -1)

    def total(self) -> int:
        """Return the bytes of all storages that are known."""
        self.registry.settle()
        return self._bytes

    def places(self) -> tuple[Place, ...]:
        """Return the largest places, the largest first."""
        with self.registry.lock:
            sums = sorted(self._sums.items(), key=lambda each: -each[1][0])[:SHOWN]
        return tuple(Place(self._name(of, line), category, *sum) for (category, of, line), sum in sums)

    def _name(self, of: str, line: int) -> str:
        """Return a container's or variable's name with its line, which a container's has already."""
        if not line:
            return of
        with self._link.lock:
            tables = self._link.tables
            frame = tables.frames.entries[tables.stacks.entries[line][0]]
            place = f"{tables.strings.entries[frame.file].rpartition('/')[2]}:{frame.line}"
        return f"{of}, {place}" if of else place

    def _add(self, key: tuple[str, str, int], size: int, count: int) -> None:
        sums = self._sums.setdefault(key, [0, 0])
        sums[0] += size
        sums[1] += count
        self._bytes += size
        if not sums[1]:
            del self._sums[key]
