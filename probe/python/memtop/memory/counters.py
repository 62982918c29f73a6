"""The counters of PyTorch's caching allocator. Any thread may read them: the allocator has its own lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def used() -> dict[int, Mapping[str, Any]]:
    """Return the allocator's counters, by device, for the devices on which the program has or had memory."""
    found: dict[int, Mapping[str, Any]] = {}
    for device in range(torch._C._cuda_getDeviceCount()):
        stats = torch._C._cuda_memoryStats(device)
        if amount(stats, "reserved_bytes", "peak"):
            found[device] = stats
    return found


def amount(stats: Mapping[str, Any], name: str, which: str = "current") -> int:
    """Return one of the allocator's counters, summed over its pools."""
    return int(stats.get(name, {}).get("all", {}).get(which, 0))
