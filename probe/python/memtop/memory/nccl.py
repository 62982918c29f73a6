"""How much memory of a device NCCL takes for its communicators, by NCCL's own formulas.

A channel that is connected to another rank has buffers for three protocols, of NCCL_LL_BUFFSIZE (512 KiB),
NCCL_LL128_BUFFSIZE (4,800 KiB) and NCCL_BUFFSIZE (4 MiB), in pages of 2 MiB at the side that receives, and a page at
each side for what both share. A ring has such a connection in each channel. NVIDIA/nccl issue 1685 has the sizes from
a log: 224 connections of 14 MiB took 3.28 GB. How many channels there are depends on the machine; it is known if
settings leave no choice, and where the device is imitated.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from ..link.program import Json

_PAGE = 2 << 20


def connection_bytes() -> int:
    """Return what a channel takes for a connection, both sides together."""
    sizes = ("NCCL_LL_BUFFSIZE", 512 << 10), ("NCCL_LL128_BUFFSIZE", 4800 << 10), ("NCCL_BUFFSIZE", 4 << 20)
    buffers = sum(_setting(name) or otherwise for name, otherwise in sizes)
    return -(-buffers // _PAGE) * _PAGE + 2 * _PAGE


def channels() -> int:
    """Return how many channels a ring has, 0 if that is not known."""
    imitated = re.search(r"(?:^|;)channels=(\d+)", os.environ.get("MEMTOP_IMITATED_GPU", ""))
    most, least = _setting("NCCL_MAX_NCHANNELS"), _setting("NCCL_MIN_NCHANNELS")
    if imitated:
        return min(int(imitated[1]), most or int(imitated[1]))
    return most if most and most == least else 0


def communicators(device: int) -> list[Json]:
    """Return the process groups of several ranks that use NCCL on a device and have communicated."""
    distributed: Any = sys.modules.get("torch.distributed.distributed_c10d")
    world: Any = getattr(distributed, "_world", None)
    found: list[Json] = []
    for group, (backend, _) in list(getattr(world, "pg_map", {}).items()):
        if "nccl" in str(backend) and group.size() > 1 and _has_communicated(group, device):
            name = world.pg_names.get(group, "")
            found.append(
                {"name": name, "ranks": group.size(), "channels": channels(), "connection": connection_bytes()}
            )
    return found


def _has_communicated(group: Any, device: int) -> bool:
    import torch

    try:
        return bool(group._get_backend(torch.device("cuda", device))._get_sequence_number_for_group() > 0)
    except (AttributeError, RuntimeError):  # another version, or no backend for this device
        return False


def _setting(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0
