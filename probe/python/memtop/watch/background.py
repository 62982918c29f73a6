"""What the agent does at the end of a step while no viewer watches: it notes the step, and looks from time to time.

Looks at what holds the memory are for the black box. They are paid from a budget, except the first one and those that
memtop's host asks for: it sees from outside that memory has grown or is about to run out.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from ..link.program import Json
from ..link.queue import GAUGES, STEP, STEP_END, Link, now_us
from ..memory.account import Account
from ..memory.host_ledger import HOST, HostLedger
from ..memory.registry import Registry
from ..memory.source import Source
from ..safety.threads import touches
from .measurement import Look
from .sampling import Sampling

NOTING_NS = 1_000_000_000  # from one noted step to the next: each costs about half a millisecond, for its code is cold
GAUGE_NS = 2_000_000_000  # from one gauge with what only the program knows to the next
LOOKING = 0.0002  # share of the program's time that looks may take, on average


class Background:
    """Belongs to the training thread. Any thread may call `renew`, and ask for a look."""

    def __init__(self, link: Link, registry: Registry, look: Look, ledger: HostLedger) -> None:
        self._known = False  # a look was sent
        self.looked = 0  # bytes of the processor's tensors at the last look, 0 before
        self._ledger = ledger
        self.asked = False  # the host asks for a look
        self.account = Account()
        self._link = link
        self._registry = registry
        self._look = look
        self._memory: Source | None = None
        self._noted = self._gauged = 0  # when a step was last noted, and the machine's gauge sent
        self._purse = Sampling(share=LOOKING, credit_ns=1, purse=look.purse)

    def renew(self) -> None:
        """Look at a noted step as soon as the purse allows: the box has no state that goes on."""
        self._purse.begin(looks=1)

    @property
    def due_at(self) -> int:
        """When to note the next step."""
        return 0 if self.asked else self._noted + NOTING_NS

    @touches
    def note(self, optimizer: Any, step: int, now: int, duration: int, memory: Source) -> None:
        """Note a step."""
        since, self._noted = now - self._noted, now
        if memory is not self._memory:  # the program has begun to use a device
            self._memory = memory
            self.renew()
        if memory.host:
            self.account.stepped(optimizer, since)
        data: Json = {"step": step, "time_us": now_us(), "duration_ns": duration, "device": 0}
        data.update(memory.counters(now))
        asked, self.asked = self.asked, False
        if self._link.boxed and (asked or self._purse.next(since)):
            self._take(optimizer, data, memory)
        else:
            self._count(data, memory)
            self._link.message(STEP, data)
            if now - self._gauged >= GAUGE_NS:
                self._gauge(now, step, memory)
        self._link.wake()

    def _gauge(self, now: int, step: int, memory: Source) -> None:
        self._gauged = now
        self._link.message(GAUGES, [self._ledger.gauge(0 if memory.host else HOST, step)])

    def _count(self, data: Json, memory: Source) -> None:
        """Add what the optimizer holds, in a program whose memory was never looked at."""
        counted = self.account.memory
        if memory.host and counted.known_us and not self._known:
            data.update(allocated_bytes=counted.allocated, reserved_bytes=counted.reserved)

    @touches
    def _take(self, optimizer: Any, data: Json, memory: Source) -> None:
        """Look at what holds the memory, and put it into the box together with the step."""
        start, began = time.thread_time_ns(), time.perf_counter_ns()
        with self._registry.lock:
            self._registry.clear(memory)
            memory.clear()
            self._link.forget()
            self._look.gathering.model()
            self._look.gathering.optimizer(optimizer, anew=True)
            self._look.names.show(sys._getframe(1))  # before the scan, which finds no names
            self._look.gathering.scan()
            self._registry.settle()
            memory.look(self._registry)
            data.update(memory.measures()[0] if memory.host else {})
            self.looked = data["allocated_bytes"] if memory.host else 0
            self._link.message(STEP, data)
            self._gauge(began, data["step"], memory)
            self._link.event(STEP_END, 0, data["step"])
            self._link.looked(time.thread_time_ns() - start)
            self._known = True
            self._registry.clear(memory)
            memory.clear()
        self._purse.pay(time.thread_time_ns() - start)
        self._look.purse.pay(time.perf_counter_ns() - began)
