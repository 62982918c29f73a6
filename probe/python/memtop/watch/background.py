"""What the agent does at the end of a step while no viewer watches: it notes the step, and looks from time to time.

A step is noted ten times a second at most, and less often if that costs too much. Looks at what holds the memory are
for the black box. They are paid from a budget, except the first one and those when memory has grown or is about to run
out.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from ..link.program import Json
from ..link.queue import GAUGES, STEP, STEP_END, Link, now_us
from ..memory.account import Account
from ..memory.host_ledger import HOST, HostLedger
from ..memory.pressure import Pressure
from ..memory.registry import Registry
from ..memory.source import Source
from ..safety.threads import touches
from .measurement import Look
from .sampling import Sampling

PASSING_NS = 100_000_000  # at least, from one noted step to the next
PASSING_MOST_NS = 1_000_000_000  # at most, however much noting a step costs
NOTING = 0.0003  # share of the program's time that noting steps may take, unless the pause is the longest
GAUGE_NS = 500_000_000
LOOKING = 0.0003  # share of the program's time that looks may take, on average


class Background:
    """Belongs to the training thread. Any thread may call `renew`."""

    def __init__(self, link: Link, registry: Registry, look: Look, ledger: HostLedger) -> None:
        self._known = False  # a look was sent
        self.looked = 0  # bytes of the processor's tensors at the last look, 0 before
        self._ledger = ledger
        self.account = Account()
        self._link = link
        self._registry = registry
        self._look = look
        self._memory: Source | None = None
        self._noted = 0  # when a step was last noted
        self._pause = PASSING_NS  # from then until the next
        self._cost_of_note = 100_000  # what noting a step costs, in nanoseconds
        self._gauged = self._told_at = 0  # when the machine's memory was last asked for, and known
        self._held = 0  # bytes of the process then, or of the device now
        self._purse = Sampling(share=LOOKING, credit_ns=1, purse=look.purse)
        self._pressure = Pressure()

    def renew(self) -> None:
        """Look at a noted step as soon as the purse allows: the box has no state that goes on."""
        self._purse.begin(looks=1)

    @property
    def due_at(self) -> int:
        """When to note the next step."""
        return self._noted + (PASSING_NS if self._pressure.close else self._pause)

    @touches
    def note(self, optimizer: Any, step: int, now: int, duration: int, memory: Source) -> None:
        """Note a step."""
        since, self._noted = now - self._noted, now
        if memory is not self._memory:  # the program has begun to use a device
            self._memory = memory
            self.renew()
        if memory.host:
            self.account.stepped(optimizer, since)
        begin = time.perf_counter_ns()
        data: Json = {"step": step, "time_us": now_us(), "duration_ns": duration, "device": 0}
        data.update(memory.counters(now))
        if self._link.boxed and (self._presses(data, memory, now) or self._purse.next(since)):
            self._take(optimizer, data, memory)
        else:
            self._count(data, memory)
            self._link.message(STEP, data)
            self._price(time.perf_counter_ns() - begin)
        self._link.wake()

    def _price(self, cost: int) -> None:
        """Note what it has cost to note a step, so that the next pause pays for it. One that took long because other
        programs had the processor counts little."""
        self._cost_of_note += (min(cost, 2 * self._cost_of_note) - self._cost_of_note) // 8
        self._pause = round(min(max(PASSING_NS, self._cost_of_note / NOTING), PASSING_MOST_NS))

    def _count(self, data: Json, memory: Source) -> None:
        """Add what the optimizer holds, in a program whose memory was never looked at."""
        counted = self.account.memory
        if memory.host and counted.known_us and not self._known:
            data.update(allocated_bytes=counted.allocated, reserved_bytes=counted.reserved)

    def _presses(self, data: Json, memory: Source, now: int) -> bool:
        """Have the host measure the machine's memory, and report whether the last look is out of date by what it has
        measured so far. On a processor the memory of the whole process counts."""
        if now - self._gauged >= (PASSING_NS if self._pressure.close else GAUGE_NS):
            self._gauged = now
            self._link.message(GAUGES, [self._ledger.gauge(0 if memory.host else HOST, data["step"])])
        told, before = self._ledger.told, self._told_at
        self._held, self._told_at = told.held if memory.host else data.get("allocated_bytes", 0), told.at
        if told.at > before and self._pressure.runs_out(told.at, told.left, told.of) and memory.host:
            return True
        return self._pressure.grows(now, self._held)

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
            self._link.event(STEP_END, 0, data["step"])
            self._link.looked()
            self._known = True
            self._registry.clear(memory)
            memory.clear()
        cost = time.thread_time_ns() - start
        self._pressure.looked(time.perf_counter_ns(), self._held, cost)
        self._purse.pay(cost)
        self._look.purse.pay(time.perf_counter_ns() - began)
