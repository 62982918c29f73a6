"""Where a program's memory comes from: what watching needs of either kind of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .journal import Journal
from .program import Json, Memory
from .registry import Holding, Registry, Sink


class Source(Sink, Protocol):
    """The memory of a program. `begin` and `end` are called without the registry's lock, `devices` and `snapshot` by
    any thread, the rest under the lock."""

    settings: Json  # of the allocator
    host: bool  # it is the processor's, which the system has gauges of
    stacks: bool  # whether a storage's stack is to be captured when the registry first sees it

    def wanted(self, device: Any) -> bool:
        """Report whether memory of that device is the registry's."""

    def clear(self) -> None:
        """Begin anew, with nothing."""

    def begin(self, registry: Registry) -> None:
        """Watch, from now on. The registry has what is alive."""

    def end(self) -> None:
        """Watch no longer, and leave nothing behind in the program."""

    def begin_step(self) -> None:
        """Count the peak from here on."""

    def measures(self) -> Sequence[Json]:
        """Return what the messages of a step say of memory, one for each device, the one that trains first."""

    def devices(self) -> Sequence[Memory]:
        """Return the devices and their memory now."""

    def snapshot(self) -> bytes:
        """Return the memory now, as PyTorch's `_dump_snapshot` writes it. It may raise `Refused`."""


class Notes:
    """The numbers of the notes that say what memory is for. Safe for concurrent use: who comes second finds the number
    that the tables gave the first."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers: dict[tuple[str, ...], int] = {}

    def of(self, holding: Holding) -> int:
        """Return the number of what is known of a storage."""
        key = (holding.category, holding.layer, holding.role, holding.shape, holding.dtype)
        number = self._numbers.get(key)
        if number is None:
            with self._journal.lock:
                number = self._numbers[key] = self._journal.tables.note(*key)
        return number


def amounts(categories: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return bytes by name as the protocol's messages have them."""
    return [{"name": name, "bytes": size} for name, size in sorted(categories.items()) if size]
