"""The memory of the machine and of this process, as the operating system reports it."""

from __future__ import annotations

import os
from pathlib import Path

from .journal import now_us
from .program import Json

PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def host_gauge() -> Json | None:
    """Return one measurement as the message gauges has it, in bytes, or None if the system has no /proc."""
    try:
        machine = dict(line.split(":", 1) for line in (PROC / "meminfo").read_text().splitlines())
        total, available = (int(machine[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
        process = int((PROC / "self/statm").read_text().split()[1]) * _PAGE
    except (OSError, KeyError, ValueError, IndexError):
        return None
    used = total - available
    return {
        "device": 0,
        "time_us": now_us(),
        "device_total_bytes": total,
        "device_used_bytes": used,
        "process_bytes": process,
        "other_bytes": max(0, used - process),
        "utilisation_percent": -1,
        "temperature_celsius": -1,
        "power_milliwatts": -1,
    }
