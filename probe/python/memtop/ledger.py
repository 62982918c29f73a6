"""The host ledger: what this program and its workers have of the machine's memory, by kind, as the kernel counts it.

It is raw figures: a viewer makes rows of them that add up to what the kernel charges, so every viewer of a stream, a
recording or a black box has the same rows. What is cheap is read for each gauge: a few files of /proc and of the
control group. The allocators are asked as often as a share of the time pays for. Page tables, which take longest, are
read seldom, and by the server's thread. No tensor is touched.
"""

from __future__ import annotations

import os
import re
import resource
import time
from pathlib import Path
from typing import Callable, NamedTuple

from . import heaps, processes
from .beside import Place
from .containers import Kept
from .descriptors import read
from .gauges import Group, groups, host_gauge
from .interrupts import ignored
from .left import Left
from .processes import Resident
from .program import Json
from .sampling import Sampling

SHARE, CREDIT_NS = 0.0002, 20_000_000  # of the program's time, for what may take long, and at once
ASKING, ASKING_NS = 0.0005, 100_000_000  # likewise for what allocators and folders say
ARENA = 1 << 20  # bytes
FOLLOWING, IDLE = 1.0, 10.0  # seconds between two reads of page tables, with viewers and without
_STAT = re.compile(
    rb"^(?:total_)?(anon|rss|cache|file|shmem|kernel|sock|kernel_stack|pagetables|percpu|slab) (\d+)$", re.M
)
_KERNEL = ("kernel_stack", "pagetables", "percpu", "slab")  # what Linux before 5.18 says instead of "kernel"
_V1 = re.compile(rb"^total_", re.M)


class Shares(NamedTuple):
    """What the page tables said."""

    more: Resident  # of the workers, beside what they share with the program
    then: dict[int, int]  # anonymous memory of each worker at that time, also what it shares


class Ledger:
    """Any thread may call `gauge` and set `watched`. `due` and `tend` belong to the server's thread. What one thread
    gives to another is replaced, never changed."""

    def __init__(self) -> None:
        self.tensors: Callable[[], int] = lambda: 0  # bytes of the processor's tensors that are known, 0 for none
        self.places: Callable[[], tuple[Place, ...]] = tuple  # what the processor's tensors are of a job on a device
        self.kept: Callable[[], tuple[Kept, ...]] = tuple  # containers of the program that grow
        self.boxed: Callable[[], bool] = lambda: False  # whether there is a black box
        self.box_bytes: Callable[[], int] = lambda: 0  # what memtop itself has in shared memory
        self.wake: Callable[[], object] = lambda: None  # wakes the server's thread
        self.watched = False
        self._left = Left()
        self._asked: Json = {}  # what the allocators said last, and folders
        self._shares: Shares | None = None  # what the workers have, where only their page tables say it
        self._python: tuple[int, int | None] = 0, None  # this process's memory when Python was asked, and the answer
        self._workers: list[int] = []
        self._seen: dict[int, int] = {}  # anonymous memory of each worker when it was first seen
        self._purse = Sampling(ASKING, ASKING_NS)
        self._walks = Sampling(SHARE, CREDIT_NS)
        self._walked = self._asked_at = time.monotonic()
        self._cost_ns = 0

    def gauge(self, device: int, step: int) -> Json | None:
        """Return the machine's gauge with the ledger, both as the message gauges has them; None without /proc."""
        found = host_gauge(device)
        if found is not None:
            start, now = time.thread_time_ns(), time.monotonic()
            with ignored(OSError, KeyError, ValueError):
                since, self._asked_at = now - self._asked_at, now
                if self._purse.next(round(since * 1e9)):
                    self._asked = {**self._ask(), "asked": step}
                    self._purse.pay(time.thread_time_ns() - start)
                found["host"] = self._quick(step)
            self._cost_ns += time.thread_time_ns() - start
        return found

    def due(self) -> float | None:
        """Return when to call `tend`, None for never: nobody watches, and there is no black box."""
        if not self.watched and not self.boxed():
            return None
        if self._unwalked:
            return 0.0
        return self._walked + (FOLLOWING if self.watched else IDLE)

    @property
    def _unwalked(self) -> bool:
        """Whether there are workers, and their page tables were never read."""
        return bool(self._workers) and self._shares is None

    def tend(self) -> None:
        """Walk the page tables, if that is due and the time since it last was pays for it."""
        now, due = time.monotonic(), self.due()
        if due is None or now < due:
            return
        since, self._walked = now - self._walked, now
        if self._unwalked or self._walks.next(round(since * 1e9)):
            start = time.thread_time_ns()
            self._shares = self._walk()
            self._left.ask_all()
            cost = time.thread_time_ns() - start
            self._walks.pay(cost)
            self._cost_ns += cost

    def _quick(self, step: int) -> Json:
        own = processes.own()
        found: Json = {
            "step": step, "anonymous": own.resident.anonymous, "files": own.resident.files,
            "shared": own.resident.shared, "swapped": own.swapped, "writable": own.writable, "cost_ns": self._cost_ns,
            **self._asked, **self._of_workers(), **_group(self._workers), **_address_space(own.address_space),
        }  # fmt: skip
        pinned, used = heaps.pinned()
        known = {"tensors": self.tensors(), "box": self.box_bytes(), "pinned": pinned, "pinned_used": used}
        found.update((name, bytes) for name, bytes in known.items() if bytes)
        for name, all in (("kept", self.kept()), ("places", self.places())):
            if all:
                found[name] = [each._asdict() for each in all]
        return found

    def _walk(self) -> Shares | None:
        """Ask for the parts of shared pages, unless the control group has nobody else: then its sums say it."""
        self._workers = processes.workers()
        if not self._workers:
            return None
        if _group(self._workers).get("group_others") == 0:
            return Shares(Resident(), {})
        return _beside_own(self._workers)

    def _of_workers(self) -> Json:
        """Return how many workers there are and what they have. What one has got since its page tables were read, it
        shares with nobody."""
        resident = {pid: part.anonymous for pid in self._workers if (part := processes.resident(pid))}
        if not resident:
            return {}
        most = max(resident, key=resident.__getitem__)
        found: Json = {"workers": len(resident), "worker": most, "worker_anonymous": resident[most]}
        self._seen = {pid: self._seen.get(pid, size) for pid, size in resident.items()}
        if (shares := self._shares) and shares.then:
            before = {**self._seen, **shares.then}
            more = sum(max(0, size - before[pid]) for pid, size in resident.items())
            found.update(
                workers_anonymous=shares.more.anonymous + more, workers_files=shares.more.files,
                workers_shared=shares.more.shared,
            )  # fmt: skip
        return found

    def _ask(self) -> Json:
        found: Json = {}
        self._workers = processes.workers()
        if self._unwalked:
            self.wake()
        if malloc := heaps.malloc():
            found.update(malloc=malloc.used, malloc_free=malloc.free)
        if python := self._arenas():
            found["python"] = python
        own, *others = (processes.opened(pid) for pid in (os.getpid(), *self._workers))
        found.update(self._left.find(self._workers, own.named.union(*(other.named for other in others))))
        if own.unnamed:
            found["taken"] = sum(own.unnamed.values())
        ready = {inode: size for other in others for inode, size in other.unnamed.items()}
        if batches := sum(size for inode, size in ready.items() if inode not in own.unnamed):
            found["batches"] = batches
        return found

    def _arenas(self) -> int | None:
        """Return what Python's allocator holds. It takes whole arenas, so it is asked again when memory has changed by
        one."""
        anonymous = processes.own().resident.anonymous
        if abs(anonymous - self._python[0]) >= ARENA:
            self._python = anonymous, heaps.python()
        return self._python[1]


def _beside_own(workers: list[int]) -> Shares:
    """Return what the workers have beside what they share with this process. Shared pages count in parts, so the parts
    of all together are what all have."""
    then = {pid: part.anonymous for pid in workers if (part := processes.resident(pid))}
    parts = [processes.proportional(pid) or Resident() for pid in (os.getpid(), *workers)]
    own = processes.own().resident
    return Shares(Resident(*(max(0, sum(kind) - mine) for *kind, mine in zip(*parts, own))), then)


def _group(workers: list[int]) -> Json:
    """Return what the kernel charges the innermost control group of memory, by kind; nothing if there is none."""
    found: Json = {}
    with ignored(OSError, ValueError, IndexError, KeyError):
        group = groups()[0]
        used = int(read(group.used))
        text = read(group.content)
        first = _V1.search(text) is not None
        kinds = {name.decode(): int(size) for name, size in _STAT.findall(text)}  # the sums over its groups are last
        kernel = kinds.get("kernel", sum(kinds.get(kind, 0) for kind in _KERNEL)) + kinds.get("sock", 0)
        if first:
            with ignored(OSError):
                kernel = int(read(_beside(group, "memory.kmem.usage_in_bytes")))
        cache = kinds["cache"] if first else kinds["file"]
        found = {
            "group": used, "group_anonymous": kinds["rss"] if first else kinds["anon"],
            "group_files": cache - kinds["shmem"], "group_shared": kinds["shmem"], "group_kernel": kernel,
        }  # fmt: skip
        members = set(map(int, read(_beside(group, "cgroup.procs")).split()))
        found["group_others"] = len(members - {os.getpid(), *workers})
    return found


def _beside(group: Group, name: str) -> Path:
    return Path(group.used).with_name(name)


def _address_space(bytes: int) -> Json:
    """Return the address space, if a limit of it (`ulimit -v`) is set."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return {} if limit == resource.RLIM_INFINITY else {"address_space": bytes, "address_space_limit": limit}
