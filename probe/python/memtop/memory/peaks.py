"""The peak of a step on a device, read from the allocator's history.

PyTorch's counter keeps the highest peak so far, and the agent must not reset it: it belongs to the program. So it gives
the peak of a step only if that step made the highest so far. For other steps the allocator's events are played forward
from the state at the step's beginning. The result is taken only if it leads to the blocks that are there in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..link.program import Json
from .blocks import Blocks
from .counters import amount

Stats = Mapping[int, Mapping[str, Any]]  # the allocator's counters, by device


class Peak(NamedTuple):
    """What a step needed at its highest moments, in bytes."""

    allocated: int
    reserved: int


class Peaks:
    """Follows the blocks of all devices through a step. It belongs to the thread that trains."""

    def __init__(self) -> None:
        self._begun: Stats = {}
        self._follow = False
        self._blocks: dict[int, Blocks] = {}
        self.why = ""  # the peak is not known, "" if it is

    def begin(self, stats: Stats, snapshot: Json, follow: bool = False) -> None:
        """Begin a step with the allocator's state. With `follow`, its events are read in any case."""
        self._begun, self._follow, self.why = stats, follow, ""
        self._blocks = {device: Blocks(snapshot, device) for device in stats}

    def end(self, stats: Stats, snapshot: Json) -> dict[int, Peak]:
        """End the step. Return the peaks that are known, by device. The snapshot has the step's history."""
        found = {}
        for device, counters in stats.items():
            peak = highest(counters)
            news = peak.allocated > highest(self._begun.get(device, {})).allocated
            if not news or self._follow:
                self.why = self.why or self._play(device, counters, snapshot)
            if news:
                found[device] = peak
            elif not self.why and device in self._blocks:
                found[device] = Peak(self._blocks[device].peak, self._blocks[device].peak_reserved)
        return found

    def requests(self, stats: Stats) -> int:
        """Return the number of requests in this step, on the device with the most memory."""
        device = self._largest()
        return requests(stats[device]) - requests(self._begun[device]) if device in stats else 0

    def changes(self) -> tuple[int, list[tuple[int, int]]]:
        """Return what that device had in use when the step began, and what was taken and given back in it, if the step
        was followed."""
        blocks = self._blocks.get(self._largest())
        return (0, []) if blocks is None or self.why else (blocks.began, blocks.changes)

    def _largest(self) -> int:
        return max(self._blocks, key=lambda device: self._blocks[device].began, default=-1)

    def _play(self, device: int, counters: Mapping[str, Any], snapshot: Json) -> str:
        """Play the events of the step. Return why they do not give the peak, "" if they do."""
        blocks = self._blocks.get(device)
        if blocks is None:
            return ""
        events = since(snapshot["device_traces"][device], requests(counters) - requests(self._begun[device]))
        if events is None:
            return "the allocator's history does not reach back to the beginning of the step"
        blocks.play(events)
        return "" if blocks.agree(snapshot) else "the allocator's history does not lead to its blocks"


def since(trace: Sequence[Mapping[str, Any]], number: int) -> Sequence[Mapping[str, Any]] | None:
    """Return the end of a history that has this many requests for blocks, and for their return. Return None if the
    history has fewer."""
    for at in range(len(trace) - 1, -1, -1):
        if trace[at]["action"] in ("alloc", "free_requested"):
            if number == 0:
                return trace[at + 1 :]
            number -= 1
    return trace if number == 0 else None


def requests(counters: Mapping[str, Any]) -> int:
    """Return how many blocks the program has asked for and given back so far."""
    return amount(counters, "allocation", "allocated") + amount(counters, "allocation", "freed")


def highest(counters: Mapping[str, Any]) -> Peak:
    """Return the highest peaks so far."""
    return Peak(amount(counters, "allocated_bytes", "peak"), amount(counters, "reserved_bytes", "peak"))
