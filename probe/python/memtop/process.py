"""Which process this is: what tells it apart from all others, and what viewers are shown of it."""

from __future__ import annotations

import os
import pwd
import socket
import sys
import time
from dataclasses import dataclass

from . import launcher

_TICKS = 100  # of /proc, a second
_COMMAND_MAX = 4096  # bytes of a command line that viewers are shown
_COMMAND_LINE = "MEMTOP_COMMAND_LINE"  # in the program's environment: how much of it viewers are shown
_READINGS = 8
_loaded_us = time.time_ns() // 1000


@dataclass(frozen=True)
class Process:
    """A process. Its start, with its pid, names it for good: clock ticks since boot, as in /proc."""

    pid: int
    start: int
    started_us: int
    command: str
    user: str
    host: str
    rank: launcher.Rank | None  # None for one that is alone


def this() -> Process:
    """Return the process that runs this."""
    start, started_us = _start()
    return Process(os.getpid(), start, started_us, _command(), _user(), socket.gethostname(), launcher.rank())


def _start() -> tuple[int, int]:
    """Return when this process began: for its name, 0 without a /proc, and in microseconds since 1970."""
    try:
        with open("/proc/self/stat", "rb") as file:
            # The second field is the command in parentheses, which may hold anything.
            ticks = int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return 0, _loaded_us
    return ticks, (_boot_ns() + ticks * (1_000_000_000 // _TICKS)) // 1000


def _boot_ns() -> int:
    """Return when the machine began, from the clock of the day and the one that counts from the boot.

    Another thread may run between the two readings, so the pair that was read most quickly counts.
    """
    readings = []
    for _ in range(_READINGS):
        before = time.time_ns()
        since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        readings.append((time.time_ns() - before, before - since))
    return min(readings)[1]


def _command() -> str:
    """Return the command line, as it was given; without the arguments if the environment says so."""
    if os.environ.get(_COMMAND_LINE, "") not in ("", "full"):
        names = [os.path.basename(path) for path in (sys.executable, *sys.argv[:1])]
        return " ".join(names)[:_COMMAND_MAX]
    try:
        with open("/proc/self/cmdline", "rb") as file:
            line = file.read().rstrip(b"\0").replace(b"\0", b" ")
    except OSError:
        line = " ".join([sys.executable, *sys.argv]).encode("utf-8", "replace")
    return line[:_COMMAND_MAX].decode("utf-8", "replace")


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
