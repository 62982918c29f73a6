"""Calls of a model: a program that has made no optimizer step for a while is measured at them, and for one that
computes without an optimizer, such as a server, they are its steps.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ..hooks.calls import Calls
from ..hooks.servers import Servers
from ..link.queue import STEP_BEGIN, now_us
from ..safety.compiled import has_compiled
from ..safety.interrupts import ignored
from ..safety.modes import unseen
from ..safety.threads import touches
from .sampling import Sampling

if TYPE_CHECKING:
    from .watch import Watch

PATIENCE_NS = 1_000_000_000  # after so long without a step, the program is measured when it calls a model
SCANNING = 0.001  # share of the program's time that measuring it may take if it has no steps


class ModelCalls:
    """Any thread may call `await_one`; the rest belongs to the thread that calls the model."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._calls = Calls(watch.guard, self._called)
        self.serving = Servers(self._begin, self._end)
        self.called_at = watch.steps.began  # when it was last measured in a call
        self.scanning = Sampling(share=SCANNING, credit_ns=1, purse=watch.look.purse)

    def forget(self) -> None:
        """Wait for no call any more."""
        self._calls.leave()

    def leave(self) -> None:
        """Remove all hooks."""
        self._calls.leave()
        self.serving.leave()

    def abandon(self) -> None:
        """Remove the hooks in a forked child, without a lock."""
        self._calls.abandon()
        self.serving.leave()

    def await_one(self, last: int) -> None:
        """Measure the program when it next calls a model, if it has not been measured for a while. Any thread may
        ask. A device's memory needs it only to find the models whose calls are steps."""
        watch = self._watch
        needed = watch.memory.host or (watch.wanted and not self.serving.trains)
        if needed and time.perf_counter_ns() - last > PATIENCE_NS:
            self._calls.await_one()

    def _called(self, model: Any) -> None:
        """Measure a program that has made no step for a while, when it calls a model. Do nothing if another thread is
        handling a step or a call."""
        watch = self._watch
        if watch.taking.acquire(blocking=False):
            try:
                self._measure(model)
            finally:
                watch.taking.release()

    def _measure(self, model: Any) -> None:
        watch = self._watch
        now = time.perf_counter_ns()
        duration, self.called_at = now - self.called_at, now
        watch.models.add(model)
        watch.move_to_device()
        if not watch.wanted:
            watch.unwatched.account.called(watch.models)
        elif self.scanning.next(duration):
            watch.look.gathering.scan()
            watch.look.names.show(sys._getframe(1))
            watch.registry.settle()
            watch.looked_us = now_us()
            if not watch.step:  # otherwise a whole step is to be seen
                watch.whole = True
            self.scanning.pay(time.perf_counter_ns() - now)
            watch.look.purse.pay(time.perf_counter_ns() - now)
        if watch.wanted and not watch.look.gathering.optimizers:
            self.serving.follow(model)

    @unseen
    def _begin(self, model: Any, arguments: Any, named: Any) -> bool:
        """Begin a step with the call of a model. Report whether it is one. Its end lets other steps and calls in."""
        watch = self._watch
        if watch.guard.error or not watch.taking.acquire(blocking=False):
            return False
        begun = False
        try:
            if self._is_step(model):
                self._open(model, arguments, named)
                begun = True
        except Exception as error:
            self._fail(error)
        finally:
            if not begun:
                watch.taking.release()
        return begun

    def _is_step(self, model: Any) -> bool:
        watch = self._watch
        serves = not self.serving.trains and not watch.look.gathering.optimizers
        if watch.wanted and serves and not has_compiled():
            return self.serving.is_step(model)
        self.leave()
        return False

    @touches
    def _open(self, model: Any, arguments: Any, named: Any) -> None:
        watch = self._watch
        now = time.perf_counter_ns()
        watch.move_to_device()
        watch.measured.begin(None, watch.sampling.next(now - watch.steps.began))
        if watch.look.on:
            watch.look.layers.begin_call(model, arguments, named)
            watch.link.event(STEP_BEGIN, 0, watch.step + 1)
        watch.steps.began = time.perf_counter_ns()

    @unseen
    def _end(self, model: Any, output: Any) -> None:
        """End the step of a call."""
        watch = self._watch
        try:
            self._close(model, output)
        except Exception as error:
            self._fail(error)
        finally:
            watch.taking.release()

    @touches
    def _close(self, model: Any, output: Any) -> None:
        watch = self._watch
        now = time.perf_counter_ns()
        watch.measured.count(now)
        data = {
            "step": watch.step, "time_us": now_us(), "device": 0, "duration_ns": now - watch.steps.began, "probe_ns": 0,
            **watch.memory.counters(now),
        }  # fmt: skip
        used = watch.settings.values()
        watch.changed += watch.settings.apply(watch.step + 1)
        whole = watch.look.on
        if whole:
            watch.look.layers.end_call(model, output)
            data["duration_ns"] -= watch.look.spent_ns
            data["probe_ns"] = watch.measured.finish(None, data, now)
            watch.look.leave()
            watch.look.on = False
            watch.look.purse.pay(data["probe_ns"])
        watch.measured.pay(data["probe_ns"])
        used.append(("steps", f"calls of {type(model).__name__}"))
        watch.measured.tell(data, used, whole, now)
        watch.steps.began = time.perf_counter_ns()

    def _fail(self, error: Exception) -> None:
        watch = self._watch
        watch.guard.fail(error)
        with ignored(Exception):  # remove as much as possible
            self.serving.leave()
            watch.leave()
