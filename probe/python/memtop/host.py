"""The memory of a program without a caching allocator: every storage of the processor that the agent knows."""

from __future__ import annotations

from typing import Any

from .journal import ALLOC, FREE, RETAG, Journal
from .registry import Holding

SETTINGS = {"allocator": "none"}


class HostMemory:
    """Writes what becomes of storages into the journal, and adds it up. Guarded by its registry's lock."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._notes: dict[tuple[str, ...], int] = {}
        self.allocated = 0
        self.categories: dict[str, int] = {}
        self.peak = 0
        self.categories_at_peak: dict[str, int] = {}

    def wanted(self, device: Any) -> bool:
        """Report whether memory of that device is the registry's."""
        return bool(device.type == "cpu")

    def born(self, holding: Holding) -> None:
        """Tell of new memory."""
        self._journal.event(ALLOC, holding.address, holding.size, holding.stack, self._note(holding))
        self._add(holding.category, holding.size)
        holding.counted = holding.category

    def changed(self, holding: Holding) -> None:
        """Tell that memory is for something else than was known."""
        self._journal.event(RETAG, holding.address, holding.size, 0, self._note(holding))
        self._add(holding.counted, -holding.size)
        self._add(holding.category, holding.size)
        holding.counted = holding.category

    def died(self, holding: Holding) -> None:
        """Tell of the end of memory."""
        self._journal.event(FREE, holding.address, holding.size)
        self._add(holding.counted, -holding.size)

    def begin_step(self) -> None:
        """Count the peak from here on."""
        self.peak, self.categories_at_peak = self.allocated, dict(self.categories)

    def measures(self) -> dict[str, Any]:
        """Return what a step's message says of memory, in bytes."""
        return {
            "allocated_bytes": self.allocated, "reserved_bytes": self.allocated,
            "peak_allocated_bytes": self.peak, "peak_reserved_bytes": self.peak,
            "categories": amounts(self.categories), "categories_at_peak": amounts(self.categories_at_peak),
        }  # fmt: skip

    def clear(self) -> None:
        """Begin anew, with nothing."""
        self.allocated = self.peak = 0
        self.categories.clear()

    def _add(self, category: str, size: int) -> None:
        self.categories[category] = self.categories.get(category, 0) + size
        self.allocated += size
        if self.allocated > self.peak:
            self.peak, self.categories_at_peak = self.allocated, dict(self.categories)

    def _note(self, holding: Holding) -> int:
        key = (holding.category, holding.layer, holding.role, holding.shape, holding.dtype)
        note = self._notes.get(key)
        if note is None:
            with self._journal.lock:
                note = self._notes[key] = self._journal.tables.note(*key)
        return note


def amounts(categories: dict[str, int]) -> list[dict[str, Any]]:
    """Return bytes by name as the protocol's messages have them."""
    return [{"name": name, "bytes": size} for name, size in sorted(categories.items()) if size]
