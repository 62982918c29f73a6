"""The blocks of a device's caching allocator, kept up to date by the events of its history.

The history has requested sizes. A block is larger: the allocator rounds a request up, and leaves a rest of a free
block on it that is too small to be cut off. So the events are played forward from a snapshot, by the allocator's rules.
All sizes are in bytes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import Any

from .geometry import SMALL_SEGMENT, Geometry

_ASKED = ("active_pending_free", "active_awaiting_free")  # by version of PyTorch


class Blocks:
    """The blocks in use of one device, and the most that they were since `begin`."""

    def __init__(self, snapshot: Mapping[str, Any], device: int) -> None:
        self._geometry = Geometry(snapshot.get("allocator_settings") or {})
        self._device = device
        self._fine: set[int] = set()  # segments in which each rest is cut off
        self._expandable: set[int] = set()
        self._ends: dict[int, int] = {}  # of segments, by address
        self._segments: list[int] = []  # sorted
        self._asked: set[int] = set()  # blocks that the program has freed, and a stream may still use
        self.sizes = in_use(snapshot, device)
        for segment in segments_of(snapshot, device):
            start, expandable = segment["address"], bool(segment.get("is_expandable"))
            fine = expandable or segment["segment_type"] == "small"
            self._add(start, start + segment["total_size"], fine, expandable)
            self._asked.update(b["address"] for b in segment["blocks"] if b["state"] in _ASKED)
        self._order = sorted(self.sizes)
        self.allocated = sum(size for address, size in self.sizes.items() if address not in self._asked)
        self.reserved = sum(end - address for address, end in self._ends.items())
        self.begin()

    def begin(self) -> None:
        """Begin to note peaks, and each block that is taken or given back."""
        self.peak, self.peak_reserved = self.allocated, self.reserved
        self.began = self.allocated
        self.changes: list[tuple[int, int]] = []  # addresses and bytes, negative for what is given back

    def play(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Let events happen."""
        for event in events:
            action = event["action"]
            if action == "alloc":
                self._alloc(event["addr"], event["size"])
            elif action == "free_requested":
                self._free(event["addr"])
            elif action == "free_completed":
                self._complete(event["addr"])
            elif action in ("segment_alloc", "segment_map"):
                self._grow(event["addr"], event["size"], action == "segment_map")
            elif action in ("segment_free", "segment_unmap"):
                self._shrink(event["addr"], event["size"])

    def agree(self, snapshot: Mapping[str, Any]) -> bool:
        """Report whether the blocks are those of a snapshot."""
        return self.sizes == in_use(snapshot, self._device)

    def _alloc(self, address: int, size: int) -> None:
        if address in self.sizes:
            return
        at = bisect_left(self._order, address)
        segment = self._segments[bisect_left(self._segments, address + 1) - 1]
        block, room = self._geometry.round(size), self._end(segment, at) - address
        if not self._geometry.cuts(segment in self._fine, block, room - block):
            block = room
        self.sizes[address] = block
        self._order.insert(at, address)
        self.allocated += block
        self.changes.append((address, block))
        if self.allocated > self.peak:
            self.peak = self.allocated

    def _end(self, segment: int, at: int) -> int:
        """Return the end of the free block before the block in use number `at`."""
        end = self._ends[segment]
        if segment in self._expandable:
            while end in self._expandable:  # the next one continues it
                end = self._ends[end]
        return min(end, self._order[at]) if at < len(self._order) else end

    def _free(self, address: int) -> None:
        if address in self.sizes and address not in self._asked:
            self._asked.add(address)
            self.allocated -= self.sizes[address]
            self.changes.append((address, -self.sizes[address]))

    def _complete(self, address: int) -> None:
        self._free(address)
        if self.sizes.pop(address, None) is not None:
            self._asked.discard(address)
            del self._order[bisect_left(self._order, address)]

    def _grow(self, address: int, size: int, expandable: bool) -> None:
        if address in self._ends:
            return
        self._add(address, address + size, expandable or size == SMALL_SEGMENT, expandable)
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)

    def _shrink(self, address: int, size: int) -> None:
        """Give back a segment, or a part of an expandable one."""
        segment = next((s for s in self._segments if s <= address < self._ends[s]), None)
        if segment is None:
            return
        end, fine, expandable = self._ends.pop(segment), segment in self._fine, segment in self._expandable
        self._segments.remove(segment)
        self._fine.discard(segment)
        self._expandable.discard(segment)
        for start, stop in ((segment, address), (address + size, end)):
            if start < stop:
                self._add(start, stop, fine, expandable)
        self.reserved -= size

    def _add(self, address: int, end: int, fine: bool, expandable: bool) -> None:
        self._ends[address] = end
        insort(self._segments, address)
        if fine:
            self._fine.add(address)
        if expandable:
            self._expandable.add(address)


def segments_of(snapshot: Mapping[str, Any], device: int) -> list[Any]:
    """Return the segments of a device."""
    return [segment for segment in snapshot["segments"] if segment["device"] == device]


def in_use(snapshot: Mapping[str, Any], device: int) -> dict[int, int]:
    """Return the sizes of a device's blocks that are in use, by address."""
    return {
        block["address"]: block["size"]
        for segment in segments_of(snapshot, device)
        for block in segment["blocks"]
        if block["state"] != "inactive"
    }
