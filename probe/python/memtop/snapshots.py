"""Snapshots of PyTorch's caching allocator, taken by a thread of the agent.

PyTorch makes a snapshot in C and holds Python's global lock meanwhile, so the program waits. This
time is measured and paid from a budget to which time adds, so all snapshots together take only a small
share of the program's time. No snapshot is taken if nothing has changed since the last one.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from typing import Any, Callable

import torch

from .journal import Journal, Pickled, Tags, now_us
from .sampling import Sampling

PAUSE = 0.1  # seconds, at least, from one snapshot to the next
MOST_BYTES = 64 << 20  # of one snapshot, see docs/protocol.md
MOST_ENTRIES = 200_000  # history entries of one snapshot, if the program keeps more
PROTOCOL = 4  # of pickles; all readers know it


class Snapshots:
    """Writes snapshots and tags into the journal. Any thread may call `begin` and `end`.

    `tags` returns the notes of all memory, by device. `activity` returns a value that changes whenever memory does.
    """

    def __init__(self, journal: Journal, tags: Callable[[], list[Tags]], activity: Callable[[], object]) -> None:
        self._journal = journal
        self._tags = tags
        self._activity = activity
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
        threading.Thread(target=self._run, args=(stop,), name="memtop snapshots", daemon=True).start()

    def end(self) -> None:
        """Stop taking snapshots. Wait for one that is being taken."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = None

    def take(self) -> None:
        """Take a snapshot, unless this has stopped or memory has not changed."""
        with self._lock:
            if self._stop is not None:
                self._take()

    def _take(self) -> None:
        activity = self._activity()
        if activity == self._seen:
            return
        self._seen, start, taken = activity, time.thread_time_ns(), now_us()
        tags, data = self._tags(), snapshot()  # the tags just before the snapshot
        self._journal.add(Pickled(taken, data))
        for entry in tags:
            self._journal.add(entry)
        cost = time.thread_time_ns() - start
        self.spent_ns += cost
        self._purse.pay(cost)

    def _run(self, stop: threading.Event) -> None:
        before = time.monotonic_ns()
        with contextlib.suppress(Exception):  # the program may be ending; the last snapshot stays
            while not stop.wait(PAUSE):
                now = time.monotonic_ns()
                if self._purse.next(now - before):
                    self.take()
                before = now


def snapshot() -> bytes:
    """Return a snapshot in PyTorch's format, shortened as in `pickled`."""
    return pickled(torch.cuda.memory._snapshot())


def pickled(contents: dict[str, Any]) -> bytes:
    """Return a snapshot as bytes. Leave out the oldest entries of a history that is too long to be sent."""
    entries = MOST_ENTRIES
    while True:
        shorten(contents, entries)
        data = pickle.dumps(contents, PROTOCOL)
        if len(data) <= MOST_BYTES or entries == 0:
            return data
        entries //= 4


def shorten(contents: dict[str, Any], entries: int) -> None:
    """Keep only the last entries of each device's history."""
    traces = contents.get("device_traces") or []
    for device, trace in enumerate(traces):
        if len(trace) > entries:
            traces[device] = trace[len(trace) - entries :]
