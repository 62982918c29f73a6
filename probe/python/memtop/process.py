"""This process: its identity, and what viewers see of it."""

from __future__ import annotations

import os
import pwd
import socket
import sys
import time
from dataclasses import dataclass

from . import launcher
from .descriptors import read
from .interrupts import ignored

_TICKS = 100  # clock ticks a second in /proc
_COMMAND_MAX = 4096  # the most bytes of a command line that viewers see
# an environment variable of the program: how much of the command line viewers see
_COMMAND_LINE = "MEMTOP_COMMAND_LINE"
_READINGS = 8
_loaded_us = time.time_ns() // 1000


@dataclass(frozen=True)
class Process:
    """A process. Its pid and its start, in clock ticks since boot as in /proc, identify it for good."""

    pid: int
    start: int
    started_us: int
    command: str
    user: str
    host: str
    rank: launcher.Rank | None  # None if it runs alone


def this() -> Process:
    """Return this process."""
    start, started_us = _start()
    return Process(os.getpid(), start, started_us, _command(), _user(), socket.gethostname(), launcher.rank())


def _start() -> tuple[int, int]:
    """Return when this process began: in clock ticks since boot, 0 without /proc, and in microseconds since 1970."""
    with ignored(OSError):
        # The second field is the command in parentheses; the command may contain any character.
        ticks = int(read("/proc/self/stat").rpartition(b")")[2].split()[19])
        return ticks, (_boot_ns() + ticks * (1_000_000_000 // _TICKS)) // 1000
    return 0, _loaded_us


def _boot_ns() -> int:
    """Return the time of the machine's boot, as the difference between the real-time clock and the boot clock.

    Another thread may run between the two readings, so the pair that was read fastest counts.
    """
    readings = []
    for _ in range(_READINGS):
        before = time.time_ns()
        since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        readings.append((time.time_ns() - before, before - since))
    return min(readings)[1]


def _command() -> str:
    """Return the command line. If the environment says so, leave out its arguments."""
    if os.environ.get(_COMMAND_LINE, "") not in ("", "full"):
        names = [os.path.basename(path) for path in (sys.executable, *sys.argv[:1])]
        return " ".join(names)[:_COMMAND_MAX]
    line = " ".join([sys.executable, *sys.argv]).encode("utf-8", "replace")
    with ignored(OSError):
        line = read("/proc/self/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    return line[:_COMMAND_MAX].decode("utf-8", "replace")


def _user() -> str:
    with ignored(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return str(os.geteuid())
