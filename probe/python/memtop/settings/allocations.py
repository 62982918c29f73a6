"""The allocator's blocks in one step on a device, and what their peak would have been without some of them.

The registry knows storages, the allocator also what operators need for a moment. So on a device a peak is predicted
from the allocator's own events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..memory.registry import Holding


@dataclass
class Allocations:
    """Moments are numbers of requests for blocks, and for their return, since the step began."""

    begin: int  # bytes in use when the step began
    changes: list[tuple[int, int]]  # by moment: the address of a block, and its bytes, negative for its return
    seen: dict[Holding, int] = field(default_factory=dict)  # by storage, the moment when it was known to be there
    backward: dict[int, int] = field(default_factory=dict)  # by call, the moment when its backward began

    ended: int = 0  # the moment when the model's forward ended

    def peak(self, absent: Mapping[Holding, int], cached: Mapping[Holding, int]) -> int:
        """Return the peak if some storages are not there until the backward of their call begins. The `cached` ones are
        there until the forward ends."""
        made, casts = self._made(absent), self._made(cached)
        level = peak = self.begin
        gone: dict[int, tuple[int, int]] = {}  # by address: the moment when the block was made, and its bytes
        again: dict[int, list[tuple[int, int]]] = {}  # by moment: the blocks that are there again
        there: dict[int, tuple[int, int, int]] = {}  # of cached blocks by address: the moment, the bytes, and the call
        for moment, (address, size) in enumerate(self.changes):
            if moment == self.ended:
                for block, (since, bytes, call) in there.items():
                    level -= bytes
                    gone[block] = since, bytes
                    again.setdefault(self.backward.get(call, -1), []).append((block, since))
                there.clear()
            for block, since in again.pop(moment, ()):
                if gone.get(block, (None, 0))[0] == since:
                    level += gone.pop(block)[1]
            peak = max(peak, level)  # what comes back may be given back at once
            if moment in made:
                gone[address] = moment, size
                again.setdefault(self.backward.get(made[moment], -1), []).append((address, moment))
            elif size > 0 or address not in gone:
                level += size
                there.pop(address, None)
                if moment in casts:
                    there[address] = moment, size, casts[moment]
            else:
                del gone[address]
            peak = max(peak, level)
        return peak

    def _made(self, absent: Mapping[Holding, int]) -> dict[int, int]:
        """Return the call of each storage, by the moment when its block was made."""
        moments: dict[int, list[int]] = {}
        for moment, (address, size) in enumerate(self.changes):
            if size > 0:
                moments.setdefault(address, []).append(moment)
        found = {}
        for holding, call in absent.items():
            before = [m for m in moments.get(holding.address, ()) if m < self.seen.get(holding, 0)]
            if before:
                found[before[-1]] = call
        return found
