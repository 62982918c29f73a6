"""The peak of a step on a device, as far as counters say it.

PyTorch's counter keeps the highest peak so far, and the agent must not reset it: it belongs to the program. So it gives
the peak of a step only if that step made the highest so far. For other steps memtop's host plays the allocator's
history forward from the blocks that were there when the step began, see Go's trace.StepBlocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..link.program import Json
from ..link.queue import Played
from .counters import amount

Stats = Mapping[int, Mapping[str, Any]]  # the allocator's counters, by device


class Peaks:
    """Follows all devices through a step. It belongs to the thread that trains."""

    def __init__(self) -> None:
        self.device = -1  # that with the most memory when the step began
        self._begun: Stats = {}
        self._blocks: dict[int, list[int]] = {}  # by device, the addresses and sizes of blocks when the step began

    def begin(self, stats: Stats, snapshot: Json) -> None:
        """Begin a step with the allocator's state."""
        self._begun, self._blocks = stats, {device: [] for device in stats}
        self.device = max(stats, key=lambda device: amount(stats[device], "allocated_bytes"), default=-1)
        for segment in snapshot["segments"]:
            for block in segment["blocks"]:
                if block["state"] != "inactive" and segment["device"] in stats:
                    self._blocks[segment["device"]] += block["address"], block["size"]

    def played(self, stats: Stats) -> tuple[Played, ...]:
        """Return what the host needs to play the step that ends."""
        return tuple(
            (device, self.requests(stats, device), amount(begun, "reserved_bytes"), tuple(self._blocks[device]))
            for device, begun in self._begun.items()
            if device in stats
        )

    def highest(self, device: int, counters: Mapping[str, Any]) -> Json:
        """Return the fields of a step's message about its peak, if no step before had so high a one."""
        peak = amount(counters, "allocated_bytes", "peak")
        if peak <= amount(self._begun.get(device, {}), "allocated_bytes", "peak"):
            return {}
        return {"peak_allocated_bytes": peak, "peak_reserved_bytes": amount(counters, "reserved_bytes", "peak")}

    def requests(self, stats: Stats, device: int) -> int:
        """Return the number of requests to a device in this step."""
        return requests(stats[device]) - requests(self._begun[device])


def requests(counters: Mapping[str, Any]) -> int:
    """Return how many blocks the program has asked for and given back so far."""
    return amount(counters, "allocation", "allocated") + amount(counters, "allocation", "freed")
