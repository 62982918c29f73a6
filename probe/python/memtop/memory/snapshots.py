"""Snapshots of PyTorch's caching allocator, at the end of each measured step.

PyTorch makes a snapshot in C and holds Python's global lock meanwhile, so the program waits. If the
program makes no steps, the link's thread takes the snapshots. Their time is measured and paid from a
budget to which time adds, so they take only a small share of the program's time. The thread takes none if
nothing has changed since the last one.
"""

from __future__ import annotations

import gc
import inspect
import threading
import time
from typing import TYPE_CHECKING

import torch

from ..link.program import Json
from ..link.queue import Link, Played, Tags
from ..safety.interrupts import ignored
from ..watch.sampling import Sampling
from .shortening import pickled

if TYPE_CHECKING:
    from .cuda import CudaMemory

PAUSE = 0.1  # seconds, at least, from one snapshot to the next


class Snapshots:
    """Writes snapshots and tags into the link. Any thread may call `begin` and `end`; `due` and `tend` belong to the
    link's thread.
    """

    def __init__(self, link: Link, memory: CudaMemory) -> None:
        self._link = link
        self._memory = memory
        self._seen: object = None
        self._taking = False
        self._tended = 0.0  # when `tend` last did something
        self._lock = threading.Lock()
        self._purse = Sampling()
        self.spent_ns = 0  # since the program began

    def begin(self) -> None:
        """Take a snapshot, and the next ones whenever they are due."""
        known = self._known()
        with self._lock:
            self._taking, self._tended = True, time.monotonic()
            self._purse.begin()
            self._take(*known)

    def end(self) -> None:
        """Stop taking snapshots. Wait for one that is being taken."""
        with self._lock:
            self._taking = False

    def take(self, step: tuple[Played, ...] = ()) -> None:
        """Take a snapshot, unless this has stopped. `step` is that of a step that has just ended."""
        known = self._known()
        with self._lock:
            if self._taking:
                self._take(*known, step)

    def _known(self) -> tuple[object, list[Tags]]:
        """Return what activity there was, and the tags, which are of just before a snapshot. Call it without the lock:
        the registry's is taken for tags, by a thread that may hold it and wait for this one. What changes after the
        activity was read is new to the next snapshot."""
        return self._memory.activity(), self._memory.tags()

    def _take(self, activity: object, tags: list[Tags], step: tuple[Played, ...] = ()) -> None:
        self._seen = activity
        self._link.snapshot(pickled(snapshot(self._memory.history.short())), tuple(tags), step)

    def _take_new(self) -> None:
        """Take a snapshot if memory has changed, and pay for it."""
        if self._memory.activity() == self._seen:
            return
        start, known = time.thread_time_ns(), self._known()
        with self._lock:
            if not self._taking:
                return
            self._take(*known)
            cost = time.thread_time_ns() - start
        self.spent_ns += cost
        self._purse.pay(cost)

    def due(self) -> float | None:
        """Return when to call `tend`, None for never."""
        return max(self._tended + PAUSE, self._memory.rests_at()) if self._taking else None

    def tend(self) -> None:
        """Take a snapshot, if time has paid for it: the program rests."""
        now = time.monotonic()
        since, self._tended = now - self._tended, now
        with ignored(Exception):  # the program may be ending; the last snapshot stays
            if self._purse.next(round(since * 1e9)):
                self._memory.rest()
                self._take_new()


_LEAVES_OUT = "include_traces" in str(inspect.signature(torch.cuda.memory_snapshot))  # from PyTorch 2.11 on


def snapshot(history: bool = True) -> Json:
    """Return a snapshot of PyTorch's: without its history, which takes two microseconds for each event, if it is not
    wanted and this PyTorch can leave it out. Python's collector of garbage must not run meanwhile: the many new objects
    would make it go through all of the program's, which takes longer than the snapshot. The switch of the collector is
    the program's, which may turn it meanwhile in another thread; the threshold is ours, unless the program sets it."""
    before = gc.get_threshold()
    gc.set_threshold(0, *before[1:])
    try:
        contents: Json = torch.cuda.memory._snapshot() if history or not _LEAVES_OUT else _state()
    finally:
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*before)
    return contents


def _state() -> Json:
    state: Json = torch._C._cuda_memorySnapshot((0, 0, False))
    return {**state, "device_traces": [[] for _ in range(torch._C._cuda_getDeviceCount())]}
