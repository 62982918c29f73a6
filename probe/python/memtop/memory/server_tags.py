"""What the allocator of a server calls its memory: vLLM's, whose pools can sleep.

vLLM gives PyTorch an allocator of its own for weights and for the cache of keys and values. A singleton has a record
of each allocation, with a tag. These are plain data: reading them runs no code of the program and touches no tensor.
"""

from __future__ import annotations

import sys
from typing import Any

_MODULE = "vllm.device_allocator.cumem"
MOST = 32  # tags


def tagged(device: int) -> dict[str, list[tuple[int, int]]]:
    """Return the addresses and sizes of a device's memory, by tag, in ascending order."""
    allocator: Any = vars(sys.modules[_MODULE]).get("CuMemAllocator") if _MODULE in sys.modules else None
    instance = vars(allocator).get("instance") if isinstance(allocator, type) else None
    records = getattr(instance, "__dict__", {}).get("pointer_to_data")
    found: dict[str, list[tuple[int, int]]] = {}
    for record in list(records.values()) if type(records) is dict else ():
        fields = getattr(record, "__dict__", {})
        handle, tag = fields.get("handle"), fields.get("tag")
        if type(handle) is not tuple or type(tag) is not str or len(handle) < 3 or handle[0] != device:
            continue
        if tag in found or len(found) < MOST:
            found.setdefault(tag, []).append((handle[2], handle[1]))
    return {tag: sorted(ranges) for tag, ranges in found.items()}
