"""This process: its identity, and what viewers see of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from ..link.descriptors import read
from ..safety.interrupts import ignored

_COMMAND_MAX = 4096  # the most bytes of a command line that viewers see
# an environment variable of the program: how much of the command line viewers see
_COMMAND_LINE = "MEMTOP_COMMAND_LINE"


@dataclass(frozen=True)
class Process:
    """A process. Its pid and its start, in clock ticks since boot as in /proc, identify it for good."""

    pid: int
    start: int
    command: str


def this() -> Process:
    """Return this process."""
    return Process(os.getpid(), _start(), _command())


def _start() -> int:
    """Return when this process began, in clock ticks since boot, 0 without /proc."""
    with ignored(OSError):
        # The second field is the command in parentheses; the command may contain any character.
        return int(read("/proc/self/stat").rpartition(b")")[2].split()[19])
    return 0


def _command() -> str:
    """Return the command line. If the environment says so, leave out its arguments."""
    if os.environ.get(_COMMAND_LINE, "") not in ("", "full"):
        names = [os.path.basename(path) for path in (sys.executable, *sys.argv[:1])]
        return " ".join(names)[:_COMMAND_MAX]
    line = " ".join([sys.executable, *sys.argv]).encode("utf-8", "replace")
    with ignored(OSError):
        line = read("/proc/self/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    return line[:_COMMAND_MAX].decode("utf-8", "replace")
