"""The memory of a program without a caching allocator: all storages in the processor's memory that the agent knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..link.program import Json, Memory
from ..link.queue import ALLOC, FREE, RETAG, Link
from .registry import Holding, Registry
from .source import Notes, amounts


class HostMemory:
    """Writes the storages' events into the link, and adds up their sizes. The registry's lock guards it."""

    host = True
    device = 0
    stacks = True  # only the agent knows the line that made a storage

    def __init__(self, link: Link) -> None:
        self.settings: Json = {"allocator": "none"}
        self._link = link
        self._notes = Notes(link)
        self.unread: tuple[str, ...] = ()  # kinds of devices that the program has tensors on, and that nobody reads
        self.allocated = 0
        self.categories: dict[str, int] = {}
        self.peak = 0
        self.categories_at_peak: dict[str, int] = {}

    def wanted(self, device: Any) -> bool:
        """Report whether the registry should track memory of this device."""
        if device.type == "cpu":
            return True
        if device.type not in ("cuda", "meta", *self.unread):
            self.unread = (*self.unread, device.type)
        return False

    def born(self, holding: Holding) -> None:
        """Record and count a new storage."""
        self._link.event(ALLOC, holding.address, holding.size, holding.stack, self._notes.of(holding))
        self._add(holding.category, holding.size)
        holding.counted = holding.category

    def changed(self, holding: Holding) -> None:
        """Record and count the new category of a storage."""
        self._link.event(RETAG, holding.address, holding.size, 0, self._notes.of(holding))
        self._add(holding.counted, -holding.size)
        self._add(holding.category, holding.size)
        holding.counted = holding.category

    def died(self, holding: Holding) -> None:
        """Record the end of a storage."""
        self._link.event(FREE, holding.address, holding.size)
        self._add(holding.counted, -holding.size)

    def clear(self) -> None:
        """Forget all counts."""
        self.allocated = self.peak = 0
        self.categories.clear()

    def begin(self, registry: Registry) -> None:
        """Do nothing: the registry reports everything."""

    def end(self) -> None:
        """Do nothing: there is nothing to remove from the program."""

    def stepped(self) -> None:
        """Do nothing: the registry reports everything."""

    def begin_step(self) -> None:
        """Begin to measure the step's peak."""
        self.peak, self.categories_at_peak = self.allocated, dict(self.categories)

    def requests(self) -> int:
        """Return 0: there is no allocator to ask."""
        return 0

    def look(self, registry: Registry) -> None:
        """Do nothing: the registry reports everything."""

    def end_step(self) -> None:
        """Do nothing: the peak is known."""

    def counters(self, now_ns: int) -> Json:
        """Return nothing: a processor's memory has no counters."""
        return {}

    def measures(self) -> Sequence[Json]:
        """Return the memory fields of a step's message, in bytes."""
        return [{
            "device": 0, "allocated_bytes": self.allocated, "reserved_bytes": self.allocated,
            "peak_allocated_bytes": self.peak, "peak_reserved_bytes": self.peak,
            "categories": amounts(self.categories), "categories_at_peak": amounts(self.categories_at_peak),
        }]  # fmt: skip

    def devices(self) -> Sequence[Memory]:
        """Return the processor as device 0."""
        return [Memory(0, self.allocated, self.allocated, self.allocated)]

    def _add(self, category: str, size: int) -> None:
        self.categories[category] = self.categories.get(category, 0) + size
        self.allocated += size
        if self.allocated > self.peak:
            self.peak, self.categories_at_peak = self.allocated, dict(self.categories)
