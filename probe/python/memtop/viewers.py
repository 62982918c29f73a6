"""Counting the viewers: the program watches itself while there is at least one."""

from __future__ import annotations

import time

from .changes import Changes
from .interrupts import ignored
from .program import Program
from .request import Refusal

_MAX = 64
_CHANGE = 60.0  # seconds for which a waiting change counts as a viewer
_LOOK = 0.25  # seconds between two checks of it


class Viewers:
    """Counts streams, running snapshots, and a change that waits for a step. Owned by the server's thread."""

    def __init__(self, program: Program, changes: Changes) -> None:
        self.streams = 0
        self._snapshots = 0
        self._program = program
        self._changes = changes
        self._told = 0
        self._change_until = 0.0  # until when the waiting change counts, 0 without one

    def enter(self) -> None:
        """Count a stream, or refuse it. The program watches when this returns."""
        if self.streams >= _MAX:
            raise Refusal(503, f"{_MAX} viewers are watching already: close one of them")
        self.streams += 1
        self.count()

    def leave(self) -> None:
        """Note that a stream has ended."""
        self.streams -= 1
        self.count()

    def begin_snapshot(self) -> None:
        """Make the program watch for a snapshot."""
        self._snapshots += 1
        self.count()

    def end_snapshot(self) -> None:
        """Note that the snapshot is made."""
        self._snapshots -= 1
        self.count()

    def count(self) -> None:
        """Tell the program the number of viewers, if it has changed."""
        self._tell(self.streams + self._snapshots + self._changing())

    def end(self) -> None:
        """Make the program stop watching."""
        self._tell(0)

    def next_look(self) -> float | None:
        """Return when to count again, even if nothing happens before."""
        now = time.monotonic()
        return now + _LOOK if now < self._change_until else None

    def _changing(self) -> bool:
        if not self._changes.pending:
            self._change_until = 0.0
            return False
        now = time.monotonic()
        self._change_until = self._change_until or now + _CHANGE
        if now >= self._change_until:
            return False
        self._changes.view()  # notices a step that has reported it
        return self._changes.pending

    def _tell(self, count: int) -> None:
        if count != self._told:
            self._told = count
            with ignored(Exception):  # a failure of watching must not stop the server
                self._program.on_viewers(count)
