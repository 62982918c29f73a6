"""Watching: what the agent does between two steps, and which steps it measures.

A step ends when an optimizer has stepped. At that moment no forward or backward runs in the training
thread, so hooks are added and removed there. While no step is measured, the agent has only one hook in
the job, which is called once for each optimizer step. A program without steps is measured when it calls a model,
see `calls`.

Other threads touch nothing of the program, see `threads`: they read values that the training thread has
finished.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from . import cuda
from .beside import Beside
from .calls import Calls
from .caution import Caution
from .compiled import has_compiled, leaving
from .control.actions import Actions
from .control.checkpointing import Checkpointing
from .control.course import Course
from .control.looking import Looking
from .control.precision import Precision
from .control.settings import Settings
from .cuda import CudaMemory
from .guard import Guard
from .history import History
from .host import HostMemory
from .imitated import imitated, rehearsed
from .interrupts import ignored
from .ledger import HOST, Ledger
from .link import GAUGES, STEP_BEGIN, STEP_END, Link, now_us
from .look import FEW, SOON, Look
from .losses import loss_of
from .models import Models
from .names import Names
from .program import Json, Memory
from .registry import Holding, Registry
from .sampling import CREDIT_NS, SHARE, Sampling
from .serving import Serving
from .shortage import asker
from .source import Source
from .stacks import Stacks
from .steppers import Steppers
from .stepping import ignore, listen
from .steps import Steps
from .telling import Telling
from .threads import called_by_pytorch, touches
from .unseen import unseen
from .unwatched import Unwatched

GAUGE_NS = 1_000_000_000  # from one gauge that is sent to the next
FRESH_NS = 250_000_000  # as old is the gauge at most that one who asks gets: viewers ask ten times a second
PATIENCE_NS = 1_000_000_000  # after so long without a step, the program is measured when it calls a model
SCANNING = 0.001  # share of the program's time that measuring it may take if it has no steps
LOOKING = SHARE * 7 / 12  # what is left for hooks, beside the budgets of `look`
MEASURED = 10  # steps to measure after a change: two that settle, eight that are compared


class Watch:
    """Watches while there are viewers. `known` and the private methods belong to the training thread; any thread may
    call the rest."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.steps = Steps()
        self.guard = Guard()
        self.history = History()
        self.caution = Caution(self.history)
        self.models = Models()
        self.memory: Source = HostMemory(link)
        self.stacks = Stacks(link)
        self.course = Course(self.memory)
        self.registry = Registry(self.course, self.stacks)
        self.beside = Beside(link, self.stacks)
        self.registry.beside = self.beside.registry
        self.steppers = Steppers()
        self._aside = self.guard(self._stand_aside)
        leaving.append(self._aside)
        self.look = Look(self.models, self.registry, self.course, self.stacks, self.guard, self.steppers)
        self._purse = self.look.purse
        self._telling = Telling(link, self.steps, self.look)
        self.sampling = Sampling(LOOKING, purse=self._purse)
        survey = self.look.survey
        checkpointing = Checkpointing(self.models, survey, self.look.layers)
        looking = Looking((self.sampling, self.look.keeping))
        self.settings = Settings((checkpointing, Precision(survey), looking, Actions()), self.steps)
        self._changed: list[tuple[str, str]] = []  # changes made that no viewer has been told of yet
        self._wanted = False
        self._closing = False
        self._gauged = 0  # when the system's gauges were last sent
        self._measured: tuple[int, Json] = -FRESH_NS, {}  # when they were last read, and what they said
        self.ledger = Ledger()
        self.ledger.tensors = self._host_tensors
        self.ledger.places = self.beside.places
        self.ledger.kept = lambda: self.look.names.containers.kept
        self.unwatched = Unwatched(link, self.registry, self.look, self.ledger)
        self._looked_us = 0  # when memory was last measured since the viewer came, 0 for not yet
        self._whole = False  # a whole step or call has been measured since then, and the link has it
        self._calls = Calls(self.guard, self._called)
        self._serving = Serving(self._begin_call, self._end_call)
        self._called_at = self.steps.began  # when it was last measured in a call
        self._scanning = Sampling(share=SCANNING, credit_ns=1, purse=self._purse)
        self._lock = threading.RLock()
        self._guarded = self.guard(self._step)
        self.course.requests = lambda: self.memory.requests()
        self._taking = threading.Lock()  # one thread handles a step or a call; the others do not wait for it
        listen(self._after_step)

    def want(self, wanted: bool) -> None:
        """Begin or end watching. Both take effect when the next step ends; watching begins with the memory alive
        then."""
        with self._lock:
            if wanted and not self._wanted:
                self._choose_memory()
                self._begin()
                self.sampling.begin(FEW, SOON)
                self._scanning.begin(looks=1)
                self.look.renew()
                self._wanted = True
                self._await_call(self.steps.began)
            elif self._wanted and not wanted:
                self._calls.leave()
                self.memory.end()
            self._wanted = wanted
            self.steps.wake()

    def source(self) -> Source:
        """Return the memory that is watched, or that would be if watching began now. Any thread may ask."""
        with self._lock:
            if not self._wanted:
                self._choose_memory()
            return self.memory

    @property
    def step(self) -> int:
        """The number of steps that have ended."""
        return self.steps.ended

    @property
    def looked(self) -> bool:
        """Whether memory has been measured since the viewer came. A device's allocator is always up to date."""
        return self._looked_us > 0 or not self.memory.host

    @property
    def looking(self) -> bool:
        """Whether no whole step or call has been measured yet since the viewer came."""
        return not (self._wanted and self._whole)

    def notices(self) -> list[str]:
        """Return warnings for viewers about the memory that they see. Any thread may ask."""
        name, memory = cuda.allocator(), self.memory
        unread = [f"memtop does not read that of {kind} devices" for kind in getattr(memory, "unread", ())]
        if name == cuda.NATIVE and cuda.amds():
            return ["who has the rest of the devices' memory is not known: memtop does not ask AMD's driver"]
        if name not in ("", cuda.NATIVE):
            unread.append(f"the allocator {name} does not report the devices' memory")
        return [f"only the processor's memory is shown: {why}" for why in unread]

    @touches
    def known(self, out_of_memory: int | None = None, scans: bool = True) -> list[Holding]:
        """Return all storages known now: those of watching, and those that the interpreter holds. `out_of_memory` is
        the device whose request has just failed in this thread, if one has. A scan finds models that are not known
        yet; without one, only those and this thread's optimizers are asked."""
        with self.registry.lock:
            if not self._wanted:
                self._choose_memory()
                self.registry.clear(self.memory)
                self.memory.clear()
            names = Names(self.registry, self.stacks, self.models)
            names.show(asker())
            if scans:
                self.look.gathering.scan(out_of_memory)
            else:
                self.look.gathering.model()
                for optimizer in self.steppers.mine():
                    self.look.gathering.optimizer(optimizer, anew=True)
            self.registry.settle()
            found = self.registry.holdings()
            if not self._wanted:
                self.registry.clear(self.memory)
            return found

    def _choose_memory(self) -> bool:
        """Choose the memory to watch: the device's as soon as the program uses one. Report whether the choice has
        changed."""
        if isinstance(self.memory, CudaMemory) or not cuda.present():
            return False
        self.memory.end()
        self.memory = CudaMemory(self.link, self.history)
        return True

    def _move_to_device(self) -> None:
        """Watch the device's memory from now on, if the program has begun to use one."""
        if isinstance(self.memory, HostMemory) and cuda.present() and self._lock.acquire(blocking=False):
            try:
                if self._wanted and self._choose_memory():
                    self._begin()
                    self.look.renew()
            finally:
                self._lock.release()

    def _send_anew(self) -> None:
        """Begin to watch anew, because the link has dropped entries, unless a viewer comes or goes at this moment."""
        if self._lock.acquire(blocking=False):
            try:
                self.link.torn = False
                self._begin()
                self.look.renew()
            finally:
                self._lock.release()

    def _begin(self) -> None:
        with self.registry.lock:
            self.course.sink = self.memory
            self.registry.clear(self.course)
            self.memory.clear()
            self.link.forget()
            self._looked_us, self._whole = 0, False
        self.memory.begin(self.registry)

    def close(self) -> None:
        """Stop: at once in the training thread, otherwise when that thread ends its step."""
        if self._aside in leaving:
            leaving.remove(self._aside)
        self.want(False)
        if self.steps.thread == threading.get_ident():
            self._leave()
        elif self.steps.thread == 0:  # there was no step, so there is nothing to undo
            ignore(self._after_step)
        else:
            self._closing = True
            self.steps.wake()

    @called_by_pytorch
    def abandon(self) -> None:
        """Remove the hooks in a forked child, in its only thread. This takes no lock: one that another thread held at
        the fork is never released in the child."""
        self.guard.error = "a forked child has no agent"
        self.look.leave()
        self._calls.abandon()
        self._serving.leave()
        ignore(self._after_step)

    @touches
    def _stand_aside(self) -> None:
        """Leave no hook that `torch.compile` could find."""
        self._calls.leave()
        self._serving.leave()
        self.look.stand_aside()

    @touches
    def _leave(self) -> None:
        self.settings.restore()
        self.look.leave()
        self.look.on = False
        ignore(self._after_step)

    @called_by_pytorch
    def _after_step(self, optimizer: Any, *_: Any) -> None:
        if self.steps.passes(optimizer):
            return
        self._guarded(optimizer)
        if self.guard.error:
            with ignored(Exception):  # remove as much as possible
                self._leave()

    def _step(self, optimizer: Any) -> None:
        self.steppers.note(optimizer)
        self._serving.trains = True
        if self._taking.acquire(blocking=False):
            try:
                if self.steps.leader.leads(optimizer, self.models.lead):
                    self._boundary(optimizer)
            finally:
                self._taking.release()

    def _boundary(self, optimizer: Any) -> None:
        now = time.perf_counter_ns()
        duration, self.steps.began = now - self.steps.began, now
        self.steps.thread = threading.get_ident()
        self._count_step(now)
        if self._closing:
            self._leave()
            return
        used = self.settings.end()
        self._changed += self.settings.apply(self.step + 1)
        if self._changed:
            self.sampling.begin(MEASURED)  # so that the effect is known soon
        if not self._wanted and not self.look.on:
            self._pass(optimizer, now, duration)
            return
        self._move_to_device()
        if self.link.torn and self._wanted:
            self._send_anew()
        data: dict[str, Any] = {"step": self.step, "time_us": now_us(), "device": 0}
        if self.step > 1:  # it is not known when the first step began
            data["duration_ns"] = duration - self.look.spent_ns  # so that measured steps compare with others
        loss = None if self._computes_nothing() else loss_of(self.look.layers)
        if loss is not None:
            data["loss"] = loss
        self.look.kept_ns, hooks = 0, self.look.spent_ns
        data["probe_ns"] = self._finish(optimizer, data, used, now) if self.look.on else 0
        whole = self.look.on and self._looked_us > 0  # the step has been measured since its begin, for this viewer
        self._pay(data["probe_ns"])
        look = self._wanted and self.sampling.next(duration)
        if (self.look.keeping.next(duration) or look) and not self.look.on and self._wanted:
            data["probe_ns"] = self._keep(duration)
        self._begin_step(optimizer, look)
        if self.look.news:
            self.look.news = False
            self.settings.renew()
        self._telling.tell(data, used, self._changed, on_host=self.memory.host)
        self._whole = self._whole or whole
        self._gauge(now)
        if self.look.on:
            self.link.event(STEP_BEGIN, 0, self.step + 1)
        self.steps.began = time.perf_counter_ns()
        if look or data["probe_ns"]:
            self._purse.pay(self.steps.began - now + hooks)

    def _computes_nothing(self) -> bool:
        """Report whether the device is imitated, so that the program has no true loss."""
        return rehearsed() or (imitated() and not self.memory.host)

    def _pay(self, spent: int) -> None:
        paid = spent if self.look.keeping.empty else spent - self.look.kept_ns
        self.sampling.pay(
            min(paid, CREDIT_NS // 2) if self.look.first else paid
        )  # part of the cost of a first look occurs only once

    def _count_step(self, now: int) -> None:
        self.steps.ended += 1
        self.memory.stepped()
        self.caution.stepped(now)

    def _gauge(self, now: int) -> None:
        if now - self._gauged < GAUGE_NS:
            return
        self._gauged = now
        self.link.message(GAUGES, [self._measure()])
        self.link.wake()  # the host measures the rest right when it comes

    def _pass(self, optimizer: Any, now: int, duration: int) -> None:
        """Note a step while no viewer watches, unless one comes or goes at this moment."""
        if now >= self.unwatched.due_at and self._lock.acquire(blocking=False):
            try:
                if not self._wanted:
                    self._choose_memory()
                    self.unwatched.note(optimizer, self.step, now, duration, self.memory)
            finally:
                self._lock.release()
        self.steps.rest(min(self.unwatched.due_at, self.caution.due_at))
        if self._wanted or self._closing or self.settings.busy:
            self.steps.wake()

    def gauge(self) -> Json:
        """Return what is known here of the machine's gauge. Any thread may ask."""
        at, gauge = self._measured
        return gauge if time.perf_counter_ns() - at < FRESH_NS else self._measure()

    def _measure(self) -> Json:
        gauge = self.ledger.gauge(0 if self.memory.host else HOST, self.step)
        self._measured = time.perf_counter_ns(), gauge
        return gauge

    def _host_tensors(self) -> int:
        """Return how many bytes of the processor's tensors the last look found, 0 if nobody looked."""
        if not self.memory.host:
            return self.beside.total()
        watched = self.memory.devices()[0].allocated if self._wanted and self._looked_us else 0
        return watched or max(self.unwatched.looked, self.unwatched.account.memory.allocated)

    def devices(self) -> Sequence[Memory]:
        """Return the devices and their memory. For a processor's memory with a viewer, this is what the last look
        found. Without a viewer, it is the memory of the optimizer's parameters, gradients and state, or of the models
        if the program makes no steps."""
        source = self.source()
        self._await_call(max(self.steps.began, self._called_at))
        if not source.host:
            return source.devices()
        if not (self._wanted and self._looked_us):  # the looks for the box clear what a viewer's last look found
            return [self.unwatched.account.memory]
        return [memory._replace(known_us=self._looked_us) for memory in source.devices()]

    def _await_call(self, last: int) -> None:
        """Measure the program when it next calls a model, if it has not been measured for a while. Any thread may
        ask. A device's memory needs it only to find the models whose calls are steps."""
        needed = self.memory.host or (self._wanted and not self._serving.trains)
        if needed and time.perf_counter_ns() - last > PATIENCE_NS:
            self._calls.await_one()

    def _called(self, model: Any) -> None:
        """Measure a program that has made no step for a while, when it calls a model. Do nothing if another thread is
        handling a step or a call."""
        if self._taking.acquire(blocking=False):
            try:
                self._measure_call(model)
            finally:
                self._taking.release()

    def _measure_call(self, model: Any) -> None:
        now = time.perf_counter_ns()
        duration, self._called_at = now - self._called_at, now
        self.models.add(model)
        self._move_to_device()
        if not self._wanted:
            self.unwatched.account.called(self.models)
        elif self._scanning.next(duration):
            self.look.gathering.scan()
            self.look.names.show(sys._getframe(1))
            self.registry.settle()
            self._looked_us = now_us()
            if not self.step:  # otherwise a whole step is to be seen
                self._whole = True
            self._scanning.pay(time.perf_counter_ns() - now)
            self._purse.pay(time.perf_counter_ns() - now)
        if self._wanted and not self.look.gathering.optimizers:
            self._serving.follow(model)

    @unseen
    def _begin_call(self, model: Any, arguments: Any, named: Any) -> bool:
        """Begin a step with the call of a model. Report whether it is one. Its end lets other steps and calls in."""
        if self.guard.error or not self._taking.acquire(blocking=False):
            return False
        begun = False
        try:
            if self._is_step(model):
                self._open_call(model, arguments, named)
                begun = True
        except Exception as error:
            self._fail(error)
        finally:
            if not begun:
                self._taking.release()
        return begun

    def _is_step(self, model: Any) -> bool:
        serves = not self._serving.trains and not self.look.gathering.optimizers
        if self._wanted and serves and not has_compiled():
            return self._serving.is_step(model)
        self._serving.leave()
        self._calls.leave()
        return False

    @touches
    def _open_call(self, model: Any, arguments: Any, named: Any) -> None:
        now = time.perf_counter_ns()
        self._move_to_device()
        self._begin_step(None, self.sampling.next(now - self.steps.began))
        if self.look.on:
            self.look.layers.begin_call(model, arguments, named)
            self.link.event(STEP_BEGIN, 0, self.step + 1)
        self.steps.began = time.perf_counter_ns()

    @unseen
    def _end_call(self, model: Any, output: Any) -> None:
        """End the step of a call."""
        try:
            self._close_call(model, output)
        except Exception as error:
            self._fail(error)
        finally:
            self._taking.release()

    @touches
    def _close_call(self, model: Any, output: Any) -> None:
        now = time.perf_counter_ns()
        self._count_step(now)
        data = {
            "step": self.step, "time_us": now_us(), "device": 0, "duration_ns": now - self.steps.began, "probe_ns": 0,
        }  # fmt: skip
        used = self.settings.values()
        self._changed += self.settings.apply(self.step + 1)
        whole = self.look.on
        if whole:
            self.look.layers.end_call(model, output)
            data["duration_ns"] -= self.look.spent_ns
            data["probe_ns"] = self._finish(None, data, used, now)
            self.look.leave()
            self.look.on = False
            self._purse.pay(data["probe_ns"])
        self._pay(data["probe_ns"])
        used.append(("steps", f"calls of {type(model).__name__}"))
        self._telling.tell(data, used, self._changed, on_host=self.memory.host)
        self._whole = self._whole or whole
        self._gauge(now)
        self.steps.began = time.perf_counter_ns()

    def _fail(self, error: Exception) -> None:
        self.guard.fail(error)
        with ignored(Exception):  # remove as much as possible
            self._serving.leave()
            self._leave()

    def _finish(self, optimizer: Any, data: dict[str, Any], used: list[tuple[str, str]], since: int) -> int:
        """Take in the measured step. Return the cost of the look, including the time since `since`."""
        self.look.finish(optimizer, data.get("duration_ns", 0))
        with self.registry.lock:
            self.registry.settle()
            self.memory.end_step()
            data.update(self.memory.measures()[0])
        self.look.survey.complete(*self.memory.changes())
        if self.memory.why_no_peak:
            used.append(("peak", f"not known: {self.memory.why_no_peak}"))
        data["layers"] = self.look.layers.take()
        self.link.event(STEP_END, 0, self.step)
        return self.look.spent_ns + time.perf_counter_ns() - since

    def _keep(self, duration: int) -> int:
        """Find all that is kept beyond a step that had no hooks. Return the cost."""
        start = time.thread_time_ns()
        self.look.keep(sys._getframe(1), duration)
        with self.registry.lock:
            self.registry.settle()
        self._looked_us = now_us()
        self.link.event(STEP_BEGIN, 0, self.step)  # after what was found: any step since the last look made it
        self.link.event(STEP_END, 0, self.step)
        return time.thread_time_ns() - start

    def _begin_step(self, optimizer: Any, look: bool) -> None:
        self.look.turn(self.step + 1, optimizer, look)
        self.registry.step = self.step + 1
        if look:
            self._looked_us = now_us()
            start = time.perf_counter_ns()
            with self.registry.lock:
                self.memory.begin_step(self.course.recording)
            self.sampling.pay(time.perf_counter_ns() - start)
