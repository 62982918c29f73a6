"""Watching: what happens at the edges of steps, and what is looked at within them.

A step ends when an optimizer has stepped. That moment belongs to the thread that
trains and to no forward or backward, so hooks come and go there. Between two looks
there is nothing of the agent in the job but one call an optimizer's step. A program
that makes no steps is looked at when it calls a model, see `calls`.

Other threads touch nothing of the program, see `threads`: they ask for values that
the thread that trains has finished.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from . import cuda
from .account import Account
from .calls import Calls
from .control.actions import Actions
from .control.checkpointing import Checkpointing
from .control.course import Course
from .control.precision import Precision
from .control.settings import Settings
from .control.transfer import Transfer
from .cuda import CudaMemory
from .gauges import host_gauge
from .guard import Guard
from .host import HostMemory
from .imitated import rehearsed
from .journal import GAUGES, SETTING_CHANGED, STEP, STEP_BEGIN, STEP_END, Journal, now_us
from .leader import Leader
from .look import Look
from .losses import loss_of
from .models import Models
from .program import Memory
from .registry import Holding, Registry
from .sampling import CREDIT_NS, Sampling
from .source import Source
from .stacks import Stacks
from .steppers import Steppers
from .stepping import ignore, listen
from .threads import called_by_pytorch, touches

PASSING_NS = 100_000_000  # from one step that nobody watches to the next that is noted
GAUGE_NS = 1_000_000_000
PATIENCE_NS = 1_000_000_000  # without a step, after which a program is looked at when it calls a model
SCANNING = 0.001  # of the time of a program without steps that looking at it may take
MEASURED = 10  # steps after a change that are looked at: two that settle, eight that are compared


class Watch:
    """Watches while it is wanted. `known` and what begins with an underscore belong to the thread that trains, the rest
    may be called by any thread."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.guard = Guard()
        self.models = Models()
        self.memory: Source = HostMemory(journal)
        self.stacks = Stacks(journal)
        self.course = Course(self.memory)
        self.registry = Registry(self.course, self.stacks)
        self.steppers = Steppers()
        self.look = Look(self.models, self.registry, self.course, self.stacks, self.guard, self.steppers)
        self.sampling = Sampling()
        survey = self.look.survey
        checkpointing = Checkpointing(self.models, survey, self.look.layers)
        self.settings = Settings((checkpointing, Precision(survey), Transfer(self.look.saved), Actions()))
        self.step = 0  # how many have ended
        self._wanted = False
        self._thread = 0  # the one that trains
        self._closing = False
        self._began = time.perf_counter_ns()
        self._gauged = 0  # when the system was last asked
        self._noted = 0  # when a step was last noted that no viewer watched
        self._account = Account()
        self._looked_us = 0  # when memory was last looked at since the viewer came, 0 for not yet
        self._calls = Calls(self.guard, self._called)
        self._called_at = self._began  # when it was last looked at in a call
        self._scanning = Sampling(share=SCANNING, credit_ns=1)
        self._leader = Leader()
        self._lock = threading.RLock()
        self._guarded = self.guard(self._step)
        self._taking = threading.Lock()  # a step or call is taken up by one thread, and not waited for by others
        listen(self._after_step)

    def want(self, wanted: bool) -> None:
        """Begin or end watching. It begins with what is alive when the next step ends, and ends for good then too."""
        with self._lock:
            if wanted and not self._wanted:
                self._look_where()
                self._begin()
                self.sampling.begin()
                self._scanning.begin(looks=1)
                self.look.renew()
                self._await_call(self._began)
            elif self._wanted and not wanted:
                self._calls.leave()
                self.memory.end()
            self._wanted = wanted

    def source(self) -> Source:
        """Return the memory that is looked at, or that would be if watching began now. Any thread may ask."""
        with self._lock:
            if not self._wanted:
                self._look_where()
            return self.memory

    @property
    def looked(self) -> bool:
        """Whether the memory was looked at since the viewer came. The allocator of a device needs no look for that."""
        return self._looked_us > 0 or not self.memory.host

    def notices(self) -> list[str]:
        """Return what a viewer should know of the memory that it sees. Any thread may ask."""
        name = cuda.allocator()
        if name in ("", cuda.NATIVE):
            return []
        return [f"devices are not shown, only the processor: {name} gives no account of its memory"]

    @touches
    def known(self, device: int) -> list[Holding]:
        """Return all that is known now of the memory of devices: what watching knows, and what the interpreter holds.
        A request of one of the devices has just failed in this thread."""
        with self.registry.lock:
            if not self._wanted:
                self._look_where()
                self.registry.clear(self.memory)
                self.memory.clear()
            self.look.gathering.scan(device)
            self.registry.settle()
            found = self.registry.holdings()
            if not self._wanted:
                self.registry.clear(self.memory)
            return found

    def _look_where(self) -> bool:
        """Choose the memory to look at: a device's from the moment on at which the program has one. Report whether it
        is another than before."""
        if isinstance(self.memory, CudaMemory) or not cuda.present():
            return False
        self.memory.end()
        self.memory = CudaMemory(self.journal)
        return True

    def _go_to_device(self) -> None:
        """Watch a device's memory from here on, if the program has begun to use one."""
        if isinstance(self.memory, HostMemory) and cuda.present() and self._lock.acquire(blocking=False):
            try:
                if self._wanted and self._look_where():
                    self._begin()
                    self.look.renew()
            finally:
                self._lock.release()

    def _begin(self) -> None:
        with self.registry.lock:
            self.course.sink = self.memory
            self.registry.clear(self.course)
            self.memory.clear()
            self.journal.forget()
            self._looked_us = 0
        self.memory.begin(self.registry)

    def close(self) -> None:
        """Leave: at once in the thread that trains, else when it comes to the end of its step."""
        self.want(False)
        if self._thread == threading.get_ident():
            self._leave()
        elif self._thread == 0:  # there was no step, so nothing is to be taken back
            ignore(self._after_step)
        else:
            self._closing = True

    @called_by_pytorch
    def abandon(self) -> None:
        """Have a forked child go on without hooks. It has no thread but the one that forked, which is the program's.
        It takes no lock: one that another thread held at the fork is held in the child for good."""
        self.guard.error = "a forked child has no agent"
        self.look.leave()
        self._calls.abandon()
        ignore(self._after_step)

    @touches
    def _leave(self) -> None:
        self.settings.restore()
        self.look.leave()
        self.look.on = False
        ignore(self._after_step)

    @called_by_pytorch
    def _after_step(self, optimizer: Any, *_: Any) -> None:
        self._guarded(optimizer)
        if self.guard.error:
            with contextlib.suppress(Exception):  # what can be taken away is
                self._leave()

    def _step(self, optimizer: Any) -> None:
        self.steppers.note(optimizer)
        if self._taking.acquire(blocking=False):
            try:
                if self._leader.leads(optimizer, self.models.lead):
                    self._boundary(optimizer)
            finally:
                self._taking.release()

    def _boundary(self, optimizer: Any) -> None:
        now = time.perf_counter_ns()
        duration, self._began = now - self._began, now
        self.step += 1
        self._thread = threading.get_ident()
        if self._closing:
            self._leave()
            return
        used, changed = self.settings.values(), self.settings.apply(self.step + 1)
        if changed:
            self.sampling.begin(MEASURED)  # what it did shall be known soon
        if not self._wanted and not self.look.on:
            self._pass(optimizer, now, duration)
            return
        self._go_to_device()
        data: dict[str, Any] = {"step": self.step, "time_us": now_us(), "device": 0}
        if self.step > 1:  # of the first it is not known when it began
            data["duration_ns"] = duration - self.look.spent_ns  # so that steps are alike, looked at or not
        loss = loss_of(self.look.layers.losses)
        if loss is not None and not rehearsed():  # there it is none
            data["loss"] = loss
        data["probe_ns"] = self._finish(optimizer, data, now) if self.look.on else 0
        self._pay(data["probe_ns"])
        self._begin_step(optimizer, self._wanted and self.sampling.next(duration))
        if self.look.news:
            self.look.news = False
            self.settings.renew()
        self._tell(data, used, changed)
        self._gauge(now)
        if self.look.on:
            self.journal.event(STEP_BEGIN, 0, self.step + 1)
        self._began = time.perf_counter_ns()

    def _pay(self, spent: int) -> None:
        paid = spent - self.look.scan_ns
        self.sampling.pay(
            min(paid, CREDIT_NS // 2) if self.look.first else paid
        )  # much of a first look never comes again

    def _tell(self, data: dict[str, Any], used: list[tuple[str, str]], changed: list[tuple[str, str]]) -> None:
        """Send what is known of the step that has ended, and what changed with it."""
        if not self.memory.host:
            used.append(("layer_times", "processor"))  # nothing waits for a device
        if self.look.compiled:
            used.append(("layers", "not watched: the model is compiled"))
        data["settings"] = [{"key": key, "value": value} for key, value in sorted(used)]
        self.journal.message(STEP, data, key=0)
        for key, value in changed:
            with self.journal.lock:
                note = self.journal.tables.note(metadata=f"{key}={value}")
            self.journal.event(SETTING_CHANGED, 0, self.step + 1, note=note)

    def _gauge(self, now: int) -> None:
        if now - self._gauged < GAUGE_NS:
            return
        self._gauged = now
        gauge = host_gauge() if self.memory.host else None
        if gauge is not None:
            self.journal.message(GAUGES, [gauge], key=0)

    def _pass(self, optimizer: Any, now: int, duration: int) -> None:
        """Note a step that no viewer watches, at most ten in a second."""
        if now - self._noted >= PASSING_NS:
            if self.memory.host:
                self._account.stepped(optimizer, now - self._noted)
            self._noted = now
            self.journal.message(STEP, {"step": self.step, "time_us": now_us(), "duration_ns": duration, "device": 0})
            self.journal.forget()

    def devices(self) -> Sequence[Memory]:
        """Return the devices and their memory. On a processor that is all that was known at the last look while there
        is a viewer, else what the optimizer's parameters had, their gradients and state among it, or the models of a
        program without steps."""
        source = self.source()
        if not source.host:
            return source.devices()
        self._await_call(max(self._began, self._called_at))
        if not self._looked_us:
            return [self._account.memory]
        return [memory._replace(known_us=self._looked_us) for memory in source.devices()]

    def _await_call(self, last: int) -> None:
        """Have the program be looked at when it calls a model, if there was no other moment for a while. Any thread
        may ask."""
        if self.memory.host and time.perf_counter_ns() - last > PATIENCE_NS:
            self._calls.await_one()

    def _called(self, model: Any) -> None:
        """Look at a program that has made no step for a while: it calls a model. Where another thread is just taking
        up a step or a call, that is enough."""
        if self._taking.acquire(blocking=False):
            try:
                self._take_up(model)
            finally:
                self._taking.release()

    def _take_up(self, model: Any) -> None:
        now = time.perf_counter_ns()
        duration, self._called_at = now - self._called_at, now
        self.models.add(model)
        self._go_to_device()
        if not self._wanted:
            self._account.called(self.models)
        elif self._scanning.next(duration):
            self.look.gathering.scan()
            self.look.names.show(sys._getframe(1))
            self.registry.settle()
            self._looked_us = now_us()
            self._scanning.pay(time.perf_counter_ns() - now)

    def _finish(self, optimizer: Any, data: dict[str, Any], since: int) -> int:
        """Take up what the step that was looked at made. Return what the look has cost, with all since then."""
        self.look.finish(optimizer, data.get("duration_ns", 0))
        with self.registry.lock:
            self.registry.settle()
            data.update(self.memory.measures()[0])
        data["layers"] = self.look.layers.take()
        self.journal.event(STEP_END, 0, self.step)
        return self.look.spent_ns + time.perf_counter_ns() - since

    def _begin_step(self, optimizer: Any, look: bool) -> None:
        self.look.turn(self.step + 1, optimizer, look)
        self.registry.step = self.step + 1
        if look:
            self._looked_us = now_us()
            with self.registry.lock:
                self.memory.begin_step()
