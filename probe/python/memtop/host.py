"""The memory of a program without a caching allocator: every storage of the processor that the agent knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import pickled
from .journal import ALLOC, FREE, RETAG, Journal
from .program import Json, Memory
from .registry import Holding, Registry
from .source import Notes, amounts


class HostMemory:
    """Writes what becomes of storages into the journal, and adds it up. Guarded by its registry's lock."""

    host = True
    stacks = True  # nothing but the agent knows which line made a storage

    def __init__(self, journal: Journal) -> None:
        self.settings: Json = {"allocator": "none"}
        self._journal = journal
        self._notes = Notes(journal)
        self.allocated = 0
        self.categories: dict[str, int] = {}
        self.peak = 0
        self.categories_at_peak: dict[str, int] = {}

    def wanted(self, device: Any) -> bool:
        """Report whether memory of that device is the registry's."""
        return bool(device.type == "cpu")

    def born(self, holding: Holding) -> None:
        """Tell of new memory."""
        self._journal.event(ALLOC, holding.address, holding.size, holding.stack, self._notes.of(holding))
        self._add(holding.category, holding.size)
        holding.counted = holding.category

    def changed(self, holding: Holding) -> None:
        """Tell that memory is for something else than was known."""
        self._journal.event(RETAG, holding.address, holding.size, 0, self._notes.of(holding))
        self._add(holding.counted, -holding.size)
        self._add(holding.category, holding.size)
        holding.counted = holding.category

    def died(self, holding: Holding) -> None:
        """Tell of the end of memory."""
        self._journal.event(FREE, holding.address, holding.size)
        self._add(holding.counted, -holding.size)

    def clear(self) -> None:
        """Begin anew, with nothing."""
        self.allocated = self.peak = 0
        self.categories.clear()

    def begin(self, registry: Registry) -> None:
        """Do nothing: the registry tells all there is to tell."""

    def end(self) -> None:
        """Do nothing: there is nothing of it in the program."""

    def begin_step(self) -> None:
        """Count the peak from here on."""
        self.peak, self.categories_at_peak = self.allocated, dict(self.categories)

    def measures(self) -> Sequence[Json]:
        """Return what a step's message says of memory, in bytes."""
        return [{
            "device": 0, "allocated_bytes": self.allocated, "reserved_bytes": self.allocated,
            "peak_allocated_bytes": self.peak, "peak_reserved_bytes": self.peak,
            "categories": amounts(self.categories), "categories_at_peak": amounts(self.categories_at_peak),
        }]  # fmt: skip

    def devices(self) -> Sequence[Memory]:
        """Return the processor as device 0."""
        return [Memory(0, self.allocated, self.allocated, self.allocated)]

    def snapshot(self) -> bytes:
        """Return what the journal knows to be alive, as PyTorch would write it."""
        return pickled.of(self._journal, self.settings)

    def _add(self, category: str, size: int) -> None:
        self.categories[category] = self.categories.get(category, 0) + size
        self.allocated += size
        if self.allocated > self.peak:
            self.peak, self.categories_at_peak = self.allocated, dict(self.categories)
