"""What /proc says of this process, of its workers, and of the files in shared memory. Nobody is stopped or asked."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .descriptors import names, read
from .interrupts import ignored

PROC = Path("/proc")
SHARED = Path("/dev/shm")
MOST_WORKERS, MOST_FILES = 256, 4096
_RESIDENT = re.compile(rb"^(?:Rss|Vm)(Anon|File|Shmem|Size|Swap|Data):\s+(\d+) kB", re.M)
_PROPORTIONAL = re.compile(rb"^Pss_(Anon|File|Shmem):\s+(\d+) kB", re.M)
_INODE = re.compile(rb" (\d+) +/dev/shm/")


class Resident(NamedTuple):
    """The resident memory of processes by kind, in bytes."""

    anonymous: int = 0
    files: int = 0
    shared: int = 0


class Own(NamedTuple):
    """This process: what is resident, what is swapped out, its address space, and what of that is private and may be
    written, in bytes."""

    resident: Resident
    swapped: int
    address_space: int
    writable: int


def own() -> Own:
    """Return the memory of this process. It raises an OSError or a KeyError if the system does not say."""
    text = read(PROC / "self/status")
    found = {kind: int(size) << 10 for kind, size in _RESIDENT.findall(text)}
    return Own(_resident(text, _RESIDENT), found.get(b"Swap", 0), found[b"Size"], found.get(b"Data", 0))


def workers() -> list[int]:
    """Return the processes that this one has started, and those that they have, as far as they run."""
    found: list[int] = []
    todo = [os.getpid()]
    while todo and len(found) < MOST_WORKERS:
        pid = todo.pop()
        with ignored(OSError):
            for thread in names(PROC / str(pid) / "task"):
                with ignored(OSError):
                    todo += map(int, read(PROC / str(pid) / "task" / thread / "children").split())
        found.append(pid)
    return found[1:]


def resident(pid: int) -> Resident | None:
    """Return what is resident of a process, also where it shares it; None if the process has ended."""
    with ignored(OSError, KeyError):
        return _resident(read(PROC / str(pid) / "status"), _RESIDENT)
    return None


def proportional(pid: int) -> Resident | None:
    """Return what is resident of a process, with its part of what it shares; None if the system does not say. The
    kernel walks the page tables for that: about 70 ms for each GiB."""
    with ignored(OSError, KeyError):
        return _resident(read(PROC / str(pid) / "smaps_rollup"), _PROPORTIONAL)
    return None


def _resident(text: bytes, line: re.Pattern[bytes]) -> Resident:
    found = {kind: int(size) << 10 for kind, size in line.findall(text)}
    return Resident(found[b"Anon"], found[b"File"], found[b"Shmem"])


def shared_files(since: float) -> dict[int, tuple[int, str]]:
    """Return the files of this user in shared memory that were made after `since`, seconds since 1970: by inode their
    bytes and names."""
    files: dict[int, tuple[int, str]] = {}
    with ignored(OSError):
        for name in names(SHARED)[:MOST_FILES]:
            with ignored(OSError):
                found = os.lstat(SHARED / name)
                if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and found.st_mtime >= since:
                    files[found.st_ino] = found.st_blocks * 512, name
    return files


class Opened(NamedTuple):
    """The files in shared memory that a process has open, by inode."""

    unnamed: dict[int, int]  # with their bytes: what PyTorch's processes hand each other, such as batches
    named: set[int]


def opened(pid: int) -> Opened:
    """Return what a process has open. No file is opened, and none elsewhere is asked for anything."""
    found = Opened({}, set())
    folder = f"{PROC}/{pid}/fd/"
    with ignored(OSError):
        for number in names(folder)[:MOST_FILES]:
            with ignored(OSError):
                name = os.readlink(folder + number)
                if name.startswith(f"{SHARED}/"):
                    file = os.stat(folder + number)
                    if not file.st_nlink:  # a file whose first name was deleted may have another
                        found.unnamed[file.st_ino] = file.st_blocks * 512
                    else:
                        found.named.add(file.st_ino)
    return found


def every() -> list[int]:
    """Return all processes."""
    return [int(name) for name in names(PROC) if name.isdecimal()]


def mapped_files(pids: Iterable[int]) -> set[int]:
    """Return the inodes of shared memory that processes have mapped, as far as they may be asked."""
    found: set[int] = set()
    for pid in pids:
        with ignored(OSError):
            found.update(map(int, _INODE.findall(read(PROC / str(pid) / "maps"))))
    return found
