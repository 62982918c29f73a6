"""The host ledger: what only this program knows of its memory on the host. The host adds what the kernel says, which is
measured from outside: see Go's package hostledger.

It is raw figures: a viewer makes rows of them that add up to what the kernel charges, so every viewer of a stream, a
recording or a black box has the same rows. The allocators are asked as often as a share of the time pays for. No tensor
is touched.
"""

from __future__ import annotations

import mmap
import os
import time
from typing import Callable

from ..link.program import Json
from ..names.containers import Kept
from ..watch.sampling import Sampling
from . import heaps
from .host_tensors import Place

HOST = -1  # the device of a gauge that is about the machine while the program computes on another device
ASKING, ASKING_NS = 0.0002, 100_000_000  # share of the program's time for what allocators say, and at once
MOST_CHILDREN = 4096  # that are remembered


class HostLedger:
    """Any thread may call it. What one thread gives to another is replaced, never changed."""

    def __init__(self) -> None:
        self.tensors: Callable[[], int] = lambda: 0  # bytes of the processor's tensors that are known, 0 for none
        self.places: Callable[[], tuple[Place, ...]] = tuple  # what the processor's tensors are of a job on a device
        self.kept: Callable[[], tuple[Kept, ...]] = tuple  # containers of the program that grow
        self._asked: Json = {}  # what the allocators said last
        self._purse = Sampling(ASKING, ASKING_NS)
        self._asked_at = time.monotonic()
        self._cost_ns = 0
        self._children = Children()

    def gauge(self, device: int, step: int) -> Json:
        """Return the gauge of the machine with the ledger, as far as they are known here."""
        start, now = time.thread_time_ns(), time.monotonic()
        since, self._asked_at = now - self._asked_at, now
        if self._purse.next(round(since * 1e9)):
            self._asked = {**self._ask(), "asked": step}
            self._purse.pay(time.thread_time_ns() - start)
        found = {"step": step, "cost_ns": self._cost_ns, **self._asked, **self._known()}
        self._cost_ns += time.thread_time_ns() - start
        return {"device": device, "host": found, "forked": self._children.forked()}

    def _known(self) -> Json:
        pinned, used = heaps.pinned()
        known = {"tensors": self.tensors(), "pinned": pinned, "pinned_used": used}
        found: Json = {name: bytes for name, bytes in known.items() if bytes}
        for name, all in (("kept", self.kept()), ("places", self.places())):
            if all:
                found[name] = [each._asdict() for each in all]
        return found

    def _ask(self) -> Json:
        found: Json = {}
        if malloc := heaps.malloc():
            found.update(malloc=malloc.used, malloc_free=malloc.free)
        if python := heaps.python():
            found["python"] = python
        return found


class Children:
    """The processes that this one has forked, also those that have ended: files that they leave in shared memory have
    their numbers."""

    def __init__(self) -> None:
        self._pids = memoryview(mmap.mmap(-1, 4 * MOST_CHILDREN)).cast("i")  # children write into the same memory
        os.register_at_fork(after_in_child=self._remember)

    def forked(self) -> list[int]:
        """Return them."""
        return [pid for pid in self._pids.tolist() if pid]

    def _remember(self) -> None:
        self._pids[os.getpid() % MOST_CHILDREN] = os.getpid()
