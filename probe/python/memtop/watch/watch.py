"""Watching: what the agent has for its viewers, from the first that comes to the last that leaves.

A step ends when an optimizer has stepped. At that moment no forward or backward runs in the training
thread, so hooks are added and removed there. While no step is measured, the agent has only one hook in
the job, which is called once for each optimizer step. A program without steps is measured when it calls a model,
see `calls`.

Other threads touch nothing of the program, see `threads`: they read values that the training thread has
finished.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import FrameType

from ..hooks.models import Models
from ..hooks.optimizer_step import ignore, listen
from ..hooks.optimizer_threads import OptimizerThreads
from ..hooks.step_numbers import StepNumbers
from ..link.program import Json, Memory
from ..link.queue import Link
from ..memory import cuda
from ..memory.cuda import CudaMemory
from ..memory.failed_request import asker
from ..memory.history import History
from ..memory.history_while_unwatched import UnwatchedHistory
from ..memory.host import HostMemory
from ..memory.host_ledger import HOST, HostLedger
from ..memory.host_tensors import HostTensors
from ..memory.registry import Holding, Registry
from ..memory.source import Source
from ..memory.stacks import Stacks
from ..names.variables import Names
from ..safety.compiled import leaving
from ..safety.guard import Guard
from ..safety.threads import called_by_pytorch, touches
from ..settings.actions import Actions
from ..settings.checkpointing import Checkpointing
from ..settings.course import Course
from ..settings.look import Looking
from ..settings.precision import Precision
from ..settings.settings import Settings
from .background import Background
from .measured_step import MeasuredStep
from .measurement import FEW, SOON, Look
from .model_calls import ModelCalls
from .sampling import SHARE, Sampling
from .step_end import StepEnd

FRESH_NS = 250_000_000  # as old is the gauge at most that one who asks gets: viewers ask ten times a second
LOOKING = SHARE * 7 / 12  # what is left for hooks, beside the budgets of `look`


class Watch:
    """Watches while there are viewers. `known` and the private methods belong to the training thread; any thread may
    call the rest."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.steps = StepNumbers()
        self.guard = Guard()
        self.history = History()
        self.caution = UnwatchedHistory(self.history)
        self.models = Models()
        self.memory: Source = HostMemory(link)
        self.stacks = Stacks(link)
        self.course = Course(self.memory)
        self.registry = Registry(self.course, self.stacks)
        self.beside = HostTensors(link, self.stacks)
        self.registry.beside = self.beside.registry
        self.steppers = OptimizerThreads()
        self._aside = self.guard(self._stand_aside)
        self.look = Look(self.models, self.registry, self.course, self.stacks, self.guard, self.steppers)
        self.sampling = Sampling(LOOKING, purse=self.look.purse)
        survey = self.look.survey
        self.checkpointing = Checkpointing(self.models, survey, self.look.layers)
        looking = Looking((self.sampling, self.look.keeping))
        self.settings = Settings((self.checkpointing, Precision(survey), looking, Actions()), self.steps)
        self.changed: list[tuple[str, str]] = []  # changes made that no viewer has been told of yet
        self.wanted = False
        self.closing = False
        self._gauge: tuple[int, Json] = -FRESH_NS, {}  # when they were last read, and what they said
        self.ledger = HostLedger()
        self.ledger.tensors = self._host_tensors
        self.ledger.places = self.beside.places
        self.ledger.kept = lambda: self.look.names.containers.kept
        self.unwatched = Background(link, self.registry, self.look, self.ledger)
        self.looked_us = 0  # when memory was last measured since the viewer came, 0 for not yet
        self.whole = False  # a whole step or call has been measured since then, and the link has it
        self.lock = threading.RLock()
        self.course.requests = lambda: self.memory.requests()
        self.taking = threading.Lock()  # one thread handles a step or a call; the others do not wait for it
        self.measured = MeasuredStep(self)
        self.calls = ModelCalls(self)
        self.step_end = StepEnd(self)
        leaving.append(self._aside)
        listen(self.step_end.after_step)

    def want(self, wanted: bool) -> None:
        """Begin or end watching. Both take effect when the next step ends; watching begins with the memory alive
        then."""
        with self.lock:
            if wanted and not self.wanted:
                self.choose_memory()
                self._begin()
                self.sampling.begin(FEW, SOON)
                self.calls.scanning.begin(looks=1)
                self.look.renew()
                self.wanted = True
                self.calls.await_one(self.steps.began)
            elif self.wanted and not wanted:
                self.calls.forget()
                self.memory.end()
            self.wanted = wanted
            self.steps.wake()

    def source(self) -> Source:
        """Return the memory that is watched, or that would be if watching began now. Any thread may ask."""
        with self.lock:
            if not self.wanted:
                self.choose_memory()
            return self.memory

    @property
    def step(self) -> int:
        """The number of steps that have ended."""
        return self.steps.ended

    @property
    def looked(self) -> bool:
        """Whether memory has been measured since the viewer came. A device's allocator is always up to date."""
        return self.looked_us > 0 or not self.memory.host

    @property
    def looking(self) -> bool:
        """Whether no whole step or call has been measured yet since the viewer came."""
        return not (self.wanted and self.whole)

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
    def known(
        self,
        out_of_memory: int | None = None,
        scans: bool = True,
        names: Names | None = None,
        frame: FrameType | None = None,
    ) -> list[Holding]:
        """Return all storages known now: those of watching, and those that the interpreter holds. `out_of_memory` is
        the device whose request has just failed in this thread, if one has. A scan finds models that are not known
        yet; without one, only those and this thread's optimizers are asked. `names` follows the program's variables,
        from this thread's innermost frame or another on."""
        with self.registry.lock:
            if not self.wanted:
                self.choose_memory()
                self.registry.clear(self.memory)
                self.memory.clear()
            (names or Names(self.registry, self.stacks, self.models)).show(frame or asker())
            if scans:
                self.look.gathering.scan(out_of_memory)
            else:
                self.look.gathering.model()
                for optimizer in self.steppers.mine():
                    self.look.gathering.optimizer(optimizer, anew=True)
            self.registry.settle()
            found = self.registry.holdings()
            if not self.wanted:
                self.registry.clear(self.memory)
            return found

    def choose_memory(self) -> bool:
        """Choose the memory to watch: the device's as soon as the program uses one. Report whether the choice has
        changed."""
        if isinstance(self.memory, CudaMemory) or not cuda.present():
            return False
        self.memory.end()
        self.memory = CudaMemory(self.link, self.history)
        return True

    def move_to_device(self) -> None:
        """Watch the device's memory from now on, if the program has begun to use one."""
        if isinstance(self.memory, HostMemory) and cuda.present() and self.lock.acquire(blocking=False):
            try:
                if self.wanted and self.choose_memory():
                    self._begin()
                    self.look.renew()
            finally:
                self.lock.release()

    def send_anew(self) -> None:
        """Begin to watch anew, because the link has dropped entries, unless a viewer comes or goes at this moment."""
        if self.lock.acquire(blocking=False):
            try:
                self.link.torn = False
                self._begin()
                self.look.renew()
            finally:
                self.lock.release()

    def _begin(self) -> None:
        with self.registry.lock:
            self.course.sink = self.memory
            self.registry.clear(self.course)
            self.memory.clear()
            self.link.forget()
            self.looked_us, self.whole = 0, False
        self.memory.begin(self.registry)

    def close(self) -> None:
        """Stop: at once in the training thread, otherwise when that thread ends its step."""
        if self._aside in leaving:
            leaving.remove(self._aside)
        self.want(False)
        if self.steps.thread == threading.get_ident():
            self.leave()
        elif self.steps.thread == 0:  # there was no step, so there is nothing to undo
            ignore(self.step_end.after_step)
        else:
            self.closing = True
            self.steps.wake()

    @called_by_pytorch
    def abandon(self) -> None:
        """Remove the hooks in a forked child, in its only thread. This takes no lock: one that another thread held at
        the fork is never released in the child."""
        self.guard.error = "a forked child has no agent"
        self.look.leave()
        self.calls.abandon()
        ignore(self.step_end.after_step)

    @touches
    def _stand_aside(self) -> None:
        """Leave no hook that `torch.compile` could find."""
        self.calls.leave()
        self.look.stand_aside()

    @touches
    def leave(self) -> None:
        self.settings.restore()
        self.look.leave()
        self.look.on = False
        ignore(self.step_end.after_step)

    def gauge(self) -> Json:
        """Return what is known here of the machine's gauge. Any thread may ask."""
        at, gauge = self._gauge
        return gauge if time.perf_counter_ns() - at < FRESH_NS else self.gauge_now()

    def gauge_now(self) -> Json:
        """Return it as it is now."""
        gauge = self.ledger.gauge(0 if self.memory.host else HOST, self.step)
        self._gauge = time.perf_counter_ns(), gauge
        return gauge

    def _host_tensors(self) -> int:
        """Return how many bytes of the processor's tensors the last look found, 0 if nobody looked."""
        if not self.memory.host:
            return self.beside.total()
        watched = self.memory.devices()[0].allocated if self.wanted and self.looked_us else 0
        return watched or max(self.unwatched.looked, self.unwatched.account.memory.allocated)

    def devices(self) -> Sequence[Memory]:
        """Return the devices and their memory. For a processor's memory with a viewer, this is what the last look
        found. Without a viewer, it is the memory of the optimizer's parameters, gradients and state, or of the models
        if the program makes no steps."""
        source = self.source()
        self.calls.await_one(max(self.steps.began, self.calls.called_at))
        if not source.host:
            return source.devices()
        if not (self.wanted and self.looked_us):  # the looks for the box clear what a viewer's last look found
            return [self.unwatched.account.memory]
        return [memory._replace(known_us=self.looked_us) for memory in source.devices()]
