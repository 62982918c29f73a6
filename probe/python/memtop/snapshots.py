"""Snapshots of PyTorch's caching allocator, at the end of each measured step.

PyTorch makes a snapshot in C and holds Python's global lock meanwhile, so the program waits. If the
program makes no steps, a thread of the agent takes the snapshots. Their time is measured and paid from a
budget to which time adds, so they take only a small share of the program's time. The thread takes none if
nothing has changed since the last one.
"""

from __future__ import annotations

import gc
import threading
import time
from typing import Callable

import torch

from .interrupts import ignored
from .link import Link, Tags
from .program import Json
from .sampling import Sampling
from .shortening import pickled
from .threads import start

PAUSE = 0.1  # seconds, at least, from one snapshot to the next


class Snapshots:
    """Writes snapshots and tags into the link. Any thread may call `begin` and `end`.

    `tags` returns the notes of all memory, by device. `activity` returns a value that changes whenever memory does.
    `rest` reports whether the thread should take a snapshot now.
    """

    def __init__(
        self,
        link: Link,
        tags: Callable[[], list[Tags]],
        activity: Callable[[], object],
        rest: Callable[[], bool],
    ) -> None:
        self._link = link
        self._tags = tags
        self._activity = activity
        self._rest = rest
        self._seen: object = None
        self._stop: threading.Event | None = None
        self._lock = threading.Lock()
        self._purse = Sampling()
        self.spent_ns = 0  # since the program began

    def begin(self) -> None:
        """Take a snapshot, and start the thread that takes the next ones."""
        self.end()
        stop = threading.Event()
        with self._lock:
            self._seen, self._stop = None, stop
            self._purse.begin()
            self._take()
        start(lambda: self._run(stop))

    def end(self) -> None:
        """Stop taking snapshots. Wait for one that is being taken."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = None

    def take(self) -> Json | None:
        """Take a snapshot, and return its contents, None if this has stopped."""
        with self._lock:
            return self._take() if self._stop is not None else None

    def _take(self) -> Json:
        self._seen, tags = self._activity(), self._tags()  # the tags just before the snapshot
        contents = snapshot()
        self._link.snapshot(pickled(contents), tuple(tags))
        return contents

    def _take_new(self) -> None:
        """Take a snapshot if memory has changed, and pay for it."""
        with self._lock:
            if self._stop is None or self._activity() == self._seen:
                return
            start = time.thread_time_ns()
            self._take()
            cost = time.thread_time_ns() - start
        self.spent_ns += cost
        self._purse.pay(cost)

    def _run(self, stop: threading.Event) -> None:
        before = time.monotonic_ns()
        with ignored(Exception):  # the program may be ending; the last snapshot stays
            while not stop.wait(PAUSE):
                now = time.monotonic_ns()
                if self._purse.next(now - before) and self._rest():
                    self._take_new()
                before = now


def snapshot() -> Json:
    """Return a snapshot of PyTorch's. Python's collector of garbage must not run meanwhile: the many new objects would
    make it go through all of the program's, which takes longer than the snapshot."""
    collects = gc.isenabled()
    gc.disable()
    try:
        contents: Json = torch.cuda.memory._snapshot()
    finally:
        if collects:
            gc.enable()
    return contents
