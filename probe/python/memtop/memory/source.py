"""The interface between watching and the program's memory, with or without a caching allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..link.program import Json, Memory
from ..link.queue import Link
from .registry import Holding, Registry, Sink


class Source(Sink, Protocol):
    """The memory of a program. `begin`, `end` and `devices` are called without the registry's lock, the
    last by any thread. The rest are called under the lock."""

    settings: Json  # of the allocator
    host: bool  # it is the processor's memory, which the system has gauges for
    stacks: bool  # whether the registry should capture the stack of a storage that it sees for the first time

    def wanted(self, device: Any) -> bool:
        """Report whether the registry should track memory of this device."""

    def clear(self) -> None:
        """Forget all counts."""

    def begin(self, registry: Registry) -> None:
        """Begin to watch. The registry has the live storages."""

    def end(self) -> None:
        """Stop watching, and leave nothing behind in the program."""

    def stepped(self) -> None:
        """Note that a step has ended, whether it was measured or not."""

    def begin_step(self) -> None:
        """Begin to measure a step."""

    @property
    def device(self) -> int:
        """The device to which `requests` are."""

    def requests(self) -> int:
        """Return how many blocks of the allocator the step has taken and given back so far."""

    def end_step(self) -> None:
        """End the measurement of a step."""

    def look(self, registry: Registry) -> None:
        """Write into the link what the registry does not, after a scan while no viewer watches."""

    def counters(self, now_ns: int) -> Json:
        """Return what the allocator counts anyway, of the training device: for steps that are not measured."""

    def measures(self) -> Sequence[Json]:
        """Return the memory fields of a step's messages, one for each device, the training device first."""

    def devices(self) -> Sequence[Memory]:
        """Return the devices and their current memory."""


class Notes:
    """The numbers of the notes about memory. Safe for concurrent use: a second caller finds the number that the tables
    gave the first."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._numbers: dict[tuple[str, ...], int] = {}

    def of(self, holding: Holding) -> int:
        """Return the number of the note about a storage."""
        key = (holding.category, holding.layer, _role(holding), holding.shape, holding.dtype)
        number = self._numbers.get(key)
        if number is None:
            with self._link.lock:
                number = self._numbers[key] = self._link.tables.note(*key)
        return number


KEPT_BY = "kept by "  # begins the part of a role that says what keeps the memory, see docs/protocol.md


def _role(holding: Holding) -> str:
    if not holding.keeper:
        return holding.role
    return f"{holding.role}, {KEPT_BY}{holding.keeper}" if holding.role else KEPT_BY + holding.keeper


def amounts(categories: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return bytes by name, in the form of the protocol's messages."""
    return [{"name": name, "bytes": size} for name, size in sorted(categories.items()) if size]
