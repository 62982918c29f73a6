"""The rules of PyTorch's allocator for the sizes of blocks and segments, as its settings give them.

snapshots/trace/geometry.go has the same rules; its testdata/geometry.json tests both. All sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MIN_BLOCK = 512
SMALL_LIMIT = 1 << 20  # the largest block of the small pool, and the largest rest left uncut
SMALL_SEGMENT = 2 << 20  # a segment of the small pool, or a page of an expandable one
_LARGE_SEGMENT = 20 << 20  # a segment that large requests share, unless the settings give another size
_OWN_SEGMENT = 10 << 20  # from here on a request gets a segment of its own
_OWN_UNIT = 2 << 20  # such segments are multiples of it
_NO_MAX_SPLIT = 1 << 62
_TEXTS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
_POWERS = 16  # of two, from 1 MiB on, that a setting may divide


class Geometry:
    """The rules of an allocator with the settings of a snapshot."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        max_split = settings.get("max_split_size") or 0
        self._max_split = max_split if max_split > 0 else _NO_MAX_SPLIT
        self._expandable = bool(settings.get("expandable_segments"))
        self._divisions = [0] * _POWERS
        given = settings.get("roundup_power2_divisions") or {}
        for mebibytes, parts in given.items() if isinstance(given, Mapping) else ():
            if str(mebibytes).isdigit() and int(mebibytes):
                self._divisions[min(int(mebibytes).bit_length(), _POWERS) - 1] = int(parts)
        self._plain = not any(parts > 1 for parts in self._divisions)
        self._large_segment = _LARGE_SEGMENT
        text = next((settings[key] for key in _TEXTS if settings.get(key)), "")
        for setting in text.replace(" ", "").split(","):
            key, _, value = setting.partition(":")
            if key == "large_segment_size_mb" and value.isdigit() and int(value) << 20 >= _OWN_SEGMENT:
                self._large_segment = int(value) << 20

    def round(self, size: int) -> int:
        """Return the size of the block for a request, without a rest that is left on it."""
        if self._plain or size < MIN_BLOCK:
            return max(MIN_BLOCK, _round_up(size, MIN_BLOCK))
        power = size.bit_length() - 1
        parts = self._divisions[min(max(power - 20, 0), _POWERS - 1)]
        unit = MIN_BLOCK
        if parts > 1 and size > MIN_BLOCK * parts:
            unit = (1 << power) >> (parts.bit_length() - 1) or 1 << power
        return _round_up(size, unit)

    def cuts(self, fine: bool, rounded: int, rest: int) -> bool:
        """Report whether the rest of a free block that serves a request is cut off. It is cut finely in small pools and
        in expandable segments."""
        if fine:
            return rest >= MIN_BLOCK
        return rest > SMALL_LIMIT and rounded < self._max_split

    def segment_size(self, rounded: int) -> int:
        """Return the size of a new segment for a request, unless segments are expandable."""
        if rounded <= SMALL_LIMIT:
            return SMALL_SEGMENT
        if rounded < _OWN_SEGMENT:
            return self._large_segment
        return _round_up(rounded, _OWN_UNIT)

    def page(self, small: bool) -> int:
        """Return the unit in which expandable segments grow and shrink."""
        return SMALL_SEGMENT if small else self._large_segment

    def driver_request(self, rounded: int) -> int:
        """Return how much the allocator asks of the driver for a request that no free block serves."""
        if self._expandable:
            return _round_up(rounded, self.page(rounded <= SMALL_LIMIT))
        return self.segment_size(rounded)


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
