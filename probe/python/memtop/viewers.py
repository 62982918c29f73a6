"""Who is there to watch for: the program watches itself while that is one at least."""

from __future__ import annotations

import contextlib
import time

from .changes import Changes
from .program import Program
from .request import Refusal

_MAX = 64
_CHANGE = 60.0  # seconds for which a change that waits for a step counts
_LOOK = 0.25  # how often it is looked at


class Viewers:
    """Counts streams, snapshots that are made and a change that waits for a step. Owned by the server's thread."""

    def __init__(self, program: Program, changes: Changes) -> None:
        self.streams = 0
        self._snapshots = 0
        self._program = program
        self._changes = changes
        self._told = 0
        self._change_until = 0.0  # when the change that waits counts no more, 0 while none does

    def enter(self) -> None:
        """Make room for a stream. The program watches when this returns."""
        if self.streams >= _MAX:
            raise Refusal(503, f"{_MAX} viewers are watching already: close one of them")
        self.streams += 1
        self.count()

    def leave(self) -> None:
        """Note that a stream has ended."""
        self.streams -= 1
        self.count()

    def begin_snapshot(self) -> None:
        """Have the program watch for a snapshot."""
        self._snapshots += 1
        self.count()

    def end_snapshot(self) -> None:
        """Note that a snapshot was made."""
        self._snapshots -= 1
        self.count()

    def count(self) -> None:
        """Tell the program how many there are, when that is another number than before."""
        self._tell(self.streams + self._snapshots + self._changing())

    def end(self) -> None:
        """Have the program watch no more."""
        self._tell(0)

    def next_look(self) -> float | None:
        """Return when to count again, though nothing may happen before."""
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
        self._changes.view()  # a step may have shown it
        return self._changes.pending

    def _tell(self, count: int) -> None:
        if count != self._told:
            self._told = count
            with contextlib.suppress(Exception):  # a fault of watching must not end the serving
                self._program.on_viewers(count)
