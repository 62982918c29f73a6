"""Files in shared memory that this program or a process that it started has made, and that no process has mapped: what
processes leave that were killed before they deleted it.

The kernel does not say who has made a file. It counts if its name has the number of such a process, as those of
PyTorch's have, or if such a process had it open when the agent looked. All others may be another program's.
"""

from __future__ import annotations

import mmap
import os
import re
import time

from . import processes
from .program import Json

LEAST = 1 << 20  # bytes of files that are worth asking who has mapped them
MOST = 4096  # processes that are remembered
TICK = 0.01  # seconds: the kernel dates files by a clock that is late by a tick at most
_NUMBER = re.compile(r"(?<![^\W_])\d+(?![^\W_])")  # such as in torch_4711_1804289383_0


class Left:
    """What one thread gives to another is replaced, never changed."""

    def __init__(self) -> None:
        self._began = time.time() - TICK
        self._pids = memoryview(mmap.mmap(-1, 4 * MOST)).cast("i")  # forked children write theirs into the same memory
        self._own: set[int] = set()  # inodes of the program's files
        self._foreign: set[int] = set()  # inodes that any process had mapped when `ask_all` was last called
        self._some = False
        self._remember()
        os.register_at_fork(after_in_child=self._remember)

    def find(self, workers: list[int], opened: set[int]) -> Json:
        """Return what is left, as the message gauges has it. `workers` are the processes that the program has started,
        and `opened` the inodes of shared memory that they and it have open."""
        for pid in workers:
            self._remember(pid)
        files, known = processes.shared_files(self._began), self._own | opened
        self._own = {inode for inode, file in files.items() if inode in known or self._made(file[1])}
        left = self._without(files, self._foreign)
        if left:
            left = self._without(files, self._foreign | processes.mapped_files((os.getpid(), *workers)))
        self._some = bool(left)
        if not left:
            return {}
        return {"left": sum(size for size, _ in left), "left_files": len(left), "left_name": max(left)[1]}

    def ask_all(self) -> None:
        """Find out whether a process that is not of the program has mapped what seems to be left."""
        if self._some:
            self._foreign = processes.mapped_files(processes.every())

    def _without(self, files: dict[int, tuple[int, str]], mapped: set[int]) -> list[tuple[int, str]]:
        """Return the program's files that are not mapped, if they are worth it."""
        left = [files[inode] for inode in self._own - mapped]
        return left if sum(size for size, _ in left) >= LEAST else []

    def _made(self, name: str) -> bool:
        """Report whether a name has the number of one of the program's processes."""
        found = _NUMBER.search(name)
        return found is not None and 0 < (pid := int(found[0])) == self._pids[pid % MOST]

    def _remember(self, pid: int = 0) -> None:
        """Remember this process, or another of the program's."""
        pid = pid or os.getpid()
        self._pids[pid % MOST] = pid
