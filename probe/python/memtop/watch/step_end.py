"""What happens at the end of an optimizer's step: settings take effect there, and hooks come and go.

No forward or backward runs in the training thread at that moment. It belongs to that thread.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from ..hooks.losses import loss_of
from ..link.queue import STEP_BEGIN, now_us
from ..rehearsal.imitated import imitated, rehearsed
from ..safety.interrupts import ignored
from ..safety.threads import called_by_pytorch

if TYPE_CHECKING:
    from .watch import Watch

MEASURED = 10  # steps to measure after a change: two that settle, eight that are compared
TELLING_NS = 200_000_000  # from one told step to the next, unless it is measured: as often as the link sends


class StepEnd:
    """Called after each step of an optimizer: PyTorch calls `after_step`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        passes, ended = watch.steps.passes, self._ended

        @called_by_pytorch
        def after_step(optimizer: Any, *_: Any) -> None:  # it fetches as little as it can into the processor's caches
            if not passes(optimizer):
                ended(optimizer)

        self.after_step = after_step
        self.guarded = watch.guard(self._step)
        self._told = watch.steps.began  # when a step was last told, or noted

    def _ended(self, optimizer: Any) -> None:
        watch = self._watch
        self.guarded(optimizer)
        if watch.guard.error:
            with ignored(Exception):  # remove as much as possible
                watch.leave()

    def _step(self, optimizer: Any) -> None:
        watch = self._watch
        watch.steppers.note(optimizer)
        watch.calls.serving.trains = True
        if watch.taking.acquire(blocking=False):
            try:
                if watch.steps.leader.leads(optimizer, watch.models.lead):
                    self._boundary(optimizer)
            finally:
                watch.taking.release()

    def _boundary(self, optimizer: Any) -> None:
        watch = self._watch
        now = time.perf_counter_ns()
        duration, watch.steps.began = now - watch.steps.began, now
        watch.steps.thread = threading.get_ident()
        watch.measured.count(now)
        if watch.closing:
            watch.leave()
            return
        since, self._told = now - self._told, now
        used = watch.settings.end()
        watch.changed += watch.settings.apply(watch.step + 1)
        if watch.changed:
            watch.sampling.begin(MEASURED, hurried=True)  # so that the effect is known soon
        if not watch.wanted and not watch.look.on:
            self._pass(optimizer, now, duration)
            return
        watch.move_to_device()
        if watch.link.torn and watch.wanted:
            watch.send_anew()
        data: dict[str, Any] = {"step": watch.step, "time_us": now_us(), "device": 0, **watch.memory.counters(now)}
        if watch.step > 1:  # it is not known when the first step began
            data["duration_ns"] = duration - watch.look.spent_ns  # so that measured steps compare with others
        computes = not rehearsed() and (watch.memory.host or not imitated())  # else the loss means nothing
        loss = loss_of(watch.look.layers) if computes else None
        if loss is not None:
            data["loss"] = loss
        watch.look.kept_ns, hooks = 0, watch.look.spent_ns
        data["probe_ns"] = watch.measured.finish(optimizer, data, now) if watch.look.on else 0
        whole = watch.look.on and watch.looked_us > 0  # the step has been measured since its begin, for this viewer
        watch.measured.pay(data["probe_ns"])
        look = watch.wanted and watch.sampling.next(since)
        if (watch.look.keeping.next(since) or look) and not watch.look.on and watch.wanted:
            data["probe_ns"] = watch.measured.keep(since)
        watch.measured.begin(optimizer, look)
        if watch.look.news:
            watch.look.news = False
            watch.settings.renew()
        watch.measured.tell(data, used, whole, now)
        if watch.look.on:
            watch.link.event(STEP_BEGIN, 0, watch.step + 1)
        watch.steps.began = time.perf_counter_ns()
        if look or data["probe_ns"]:
            watch.look.purse.pay(watch.steps.began - now + hooks)
        self._rest(0 if watch.look.on or watch.sampling.hurried else now + TELLING_NS, watched=True)

    def _pass(self, optimizer: Any, now: int, duration: int) -> None:
        """Note a step while no viewer watches, unless one comes or goes at this moment."""
        watch = self._watch
        if now >= watch.unwatched.due_at and watch.lock.acquire(blocking=False):
            try:
                if not watch.wanted:
                    watch.choose_memory()
                    watch.unwatched.note(optimizer, watch.step, now, duration, watch.memory)
            finally:
                watch.lock.release()
        self._rest(min(watch.unwatched.due_at, watch.caution.due_at), watched=False)

    def _rest(self, until: int, watched: bool) -> None:
        """Only count the steps before this time, unless there is something to do."""
        watch = self._watch
        watch.steps.rest(until)
        if watch.wanted is not watched or watch.closing or watch.settings.busy:
            watch.steps.wake()
