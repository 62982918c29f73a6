"""The memory of the machine, of this process and of its control group, as the operating system reports it."""

from __future__ import annotations

import functools
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

from .descriptors import read
from .interrupts import ignored
from .link import now_us
from .program import Json

PROC = Path("/proc")
HOST = -1  # the device of a gauge that is about the machine while the program computes on another device
_LIMITS_NS = 60_000_000_000  # how long limits are taken to hold
_OWN = "mountinfo", "cgroup"  # of the process
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TOTAL, _AVAILABLE = re.compile(rb"^MemTotal: +(\d+)", re.M), re.compile(rb"^MemAvailable: +(\d+)", re.M)
_KILLS = re.compile(rb"^oom_kill (\d+)", re.M)
_CACHED = re.compile(rb"^(?:total_)?(?:in)?active_file (\d+)", re.M)


class Group(NamedTuple):
    """The files of a control group of memory: those of its limit, use, content, and of the processes killed for lack of
    memory."""

    limit: str
    used: str
    content: str
    kills: str


def host_gauge(device: int = 0) -> Json | None:
    """Return one measurement as the message gauges has it, in bytes, or None if the system has no /proc."""
    with ignored(OSError, TypeError, ValueError, IndexError):
        machine = read(PROC / "meminfo")
        total, available = (int(line.search(machine)[1]) * 1024 for line in (_TOTAL, _AVAILABLE))  # type: ignore[index]
        process = int(read(PROC / "self/statm").split()[1]) * _PAGE
        used = total - available
        return {
            "device": device,
            "time_us": now_us(),
            "device_total_bytes": total,
            "device_used_bytes": used,
            "process_bytes": process,
            "other_bytes": max(0, used - process),
            "utilisation_percent": -1,
            "temperature_celsius": -1,
            "power_milliwatts": -1,
            **_limited(total),
        }
    return None


def left_of(gauge: Json) -> tuple[int, int]:
    """Return how much memory the process can still get, and of how much: of the machine, or of its control group if
    that is nearer to its limit."""
    total, used = gauge["device_total_bytes"], gauge["device_used_bytes"]
    limit = gauge.get("limit_bytes", 0)
    own = limit - gauge.get("limit_used_bytes", 0), limit
    machine = total - used, total
    return own if limit and own[0] * total < machine[0] * limit else machine


def _limited(total: int) -> Json:
    """Return what is known about the control groups: the limit nearest to being reached if it is below the machine's
    memory, and how many processes of the innermost group the kernel has killed for lack of memory."""
    found: Json = {}
    if own := groups()[:1]:
        with ignored(OSError):
            if killed := _KILLS.search(read(own[0].kills)):
                found["oom_kills"] = int(killed[1])
    least = total
    for limit, group in _limits(time.monotonic_ns() // _LIMITS_NS, total):
        with ignored(OSError, ValueError):
            cached = sum(int(size) for size in _CACHED.findall(read(group.content)))
            used = max(0, int(read(group.used)) - cached)
            if limit - used < least:
                least = limit - used
                found.update(limit_bytes=limit, limit_used_bytes=used)
    return found


@functools.lru_cache(maxsize=1)
def _limits(now: int, total: int) -> list[tuple[int, Group]]:
    """Return the groups with a limit below the machine's memory. Limits seldom change, so they are read once in a
    period; `now` is its number."""
    found = []
    for group in groups():
        with ignored(OSError, ValueError):
            if (limit := int(read(group.limit))) < total:
                found.append((limit, group))
    return found


@functools.lru_cache(maxsize=1)
def groups() -> tuple[Group, ...]:
    """Return the groups of memory of this process: its own, and its parents up to the outermost that is mounted."""
    mounts: list[str] = []
    lines: list[str] = []
    with ignored(OSError):
        mounts, lines = (read(PROC / "self" / name).decode(errors="replace").splitlines() for name in _OWN)
    parts = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    own = {"memory" if "memory" in kind.split(",") else number: name for number, kind, name in parts}
    found = []
    for mount in mounts:
        where, _, what = mount.partition(" - ")
        place, kind = where.split(), what.split()
        if kind[:1] == ["cgroup2"]:
            found += [_second(folder) for folder in _folders(own.get("0"), place)]
        elif kind[:1] == ["cgroup"] and "memory" in kind[-1].split(","):
            found += [_first(folder) for folder in _folders(own.get("memory"), place)]
    return tuple(group for group in found if os.path.exists(group.limit) or os.path.exists(group.kills))


def _folders(name: str | None, place: list[str]) -> list[str]:
    """Return the folders of a group and of its parents. In a container the mount may show less than the name says."""
    if name is None:
        return []
    root, at = place[3], place[4]
    if root != "/":
        name = name[len(root) :] if name.startswith(root) else "/"
    parts = [] if name.startswith("/..") else [part for part in name.split("/") if part]
    return [os.path.join(at, *parts[:count]) for count in range(len(parts), -1, -1)]


def _first(folder: str) -> Group:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "memory.oom_control")
    return Group(*(os.path.join(folder, name) for name in names))


def _second(folder: str) -> Group:
    return Group(
        *(os.path.join(folder, name) for name in ("memory.max", "memory.current", "memory.stat", "memory.events"))
    )
