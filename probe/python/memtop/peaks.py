"""The peak of a step on a device, read from the allocator's history.

PyTorch's counter keeps the highest peak so far, and the agent must not reset it: it belongs to the program. So it gives
the peak of a step only if that step made the highest so far. For other steps the allocator's events are played forward
from the state at the step's beginning. The result is taken only if it leads to the blocks that are there in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from .blocks import Blocks

LONGEST = 100_000  # entries of a history: the agent does not read a longer one in a step, which would take too long
_OFTEN = 4_096  # allocations after which a step's events are read while it runs, before the history drops them

Stats = Mapping[int, Mapping[str, Any]]  # the allocator's counters, by device


class Peak(NamedTuple):
    """What a step needed at its highest moments, in bytes."""

    allocated: int
    reserved: int


class Position(NamedTuple):
    """A moment in the history of a device: how many blocks the program has asked for and given back so far."""

    allocated: int
    freed: int

    def after(self, earlier: Position) -> int:
        """Return the number of requests since an earlier moment."""
        return self.allocated - earlier.allocated + self.freed - earlier.freed


class Peaks:
    """Follows the blocks of all devices through a step. It belongs to the thread that trains."""

    def __init__(self) -> None:
        self._blocks: dict[int, Blocks] = {}
        self._at: dict[int, Position] = {}
        self._highest: dict[int, Peak] = {}  # that PyTorch's counter had when the step began
        self.why = ""  # the peak is not known, "" if it is

    def begin(self, stats: Stats) -> None:
        """Begin a step."""
        self._highest = {device: highest(counters) for device, counters in stats.items()}
        if self.why or self._at != positions(stats):
            self._load(stats)
        for blocks in self._blocks.values():
            blocks.begin()

    def pulse(self, stats: Stats) -> None:
        """Read the events so far, if the step has made so many that the history will soon drop them."""
        now = positions(stats)
        if not self.why and any(now[device].after(at) >= _OFTEN for device, at in self._at.items() if device in now):
            self._advance(stats)

    def end(self, stats: Stats) -> dict[int, Peak]:
        """End the step. Return the peaks that are known, by device."""
        new = {d: highest(s) for d, s in stats.items() if highest(s).allocated > self._highest.get(d, _NONE).allocated}
        if all(device in new for device in stats):
            return new
        self._advance(stats)
        if self.why:
            return new
        return {**{d: Peak(b.peak, b.peak_reserved) for d, b in self._blocks.items()}, **new}

    def _load(self, stats: Stats) -> None:
        contents = torch.cuda.memory._snapshot()
        self._blocks = {device: Blocks(contents, device) for device in stats}
        self._at, self.why = positions(stats), _too_long(contents)

    def _advance(self, stats: Stats) -> None:
        if self.why:
            return
        contents, now = torch.cuda.memory._snapshot(), positions(stats)
        self.why = _too_long(contents)
        for device, blocks in self._blocks.items():
            if not self.why and now[device] != self._at[device]:
                events = since(contents["device_traces"][device], now[device].after(self._at[device]))
                blocks.play(events or ())
                if events is None:
                    self.why = "the allocator's history does not reach back to the beginning of the step"
                elif not blocks.agree(contents):
                    self.why = "the allocator's history does not lead to its blocks"
        self._at = now


_NONE = Peak(0, 0)


def since(trace: Sequence[Mapping[str, Any]], requests: int) -> Sequence[Mapping[str, Any]] | None:
    """Return the end of a history that has this many requests for blocks, and for their return. Return None if the
    history has fewer."""
    for at in range(len(trace) - 1, -1, -1):
        if trace[at]["action"] in ("alloc", "free_requested"):
            if requests == 0:
                return trace[at + 1 :]
            requests -= 1
    return trace if requests == 0 else None


def positions(stats: Stats) -> dict[int, Position]:
    """Return the present moment of each device."""
    counts = {device: counters["allocation"]["all"] for device, counters in stats.items()}
    return {device: Position(int(all["allocated"]), int(all["freed"])) for device, all in counts.items()}


def highest(counters: Mapping[str, Any]) -> Peak:
    """Return the highest peaks so far."""
    return Peak(int(counters["allocated_bytes"]["all"]["peak"]), int(counters["reserved_bytes"]["all"]["peak"]))


def _too_long(contents: Mapping[str, Any]) -> str:
    longest = max((len(trace) for trace in contents.get("device_traces") or []), default=0)
    return f"the program's own history of {longest:,} events takes too long to read" if longest > LONGEST else ""
