"""A step that is measured, whether an optimizer or the call of a model makes it: its begin, its end and its cost.

It belongs to the training thread.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ..link.queue import GAUGES, SETTING_CHANGED, STEP, STEP_BEGIN, STEP_END, now_us
from ..settings.precision import Precision
from .sampling import CREDIT_NS

if TYPE_CHECKING:
    from .watch import Watch

GAUGE_NS = 1_000_000_000  # from one gauge that is sent to the next


class MeasuredStep:
    """See the module's docstring."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._gauged = 0  # when the system's gauges were last sent

    def count(self, now: int) -> None:
        """Count a step that has ended."""
        watch = self._watch
        watch.steps.ended += 1
        watch.memory.stepped()
        watch.caution.stepped(now)

    def begin(self, optimizer: Any, look: bool) -> None:
        """Begin the next step, and measure it if `look`."""
        watch = self._watch
        watch.look.turn(watch.step + 1, optimizer, look)
        watch.registry.step = watch.step + 1
        if look:
            watch.looked_us = now_us()
            start = time.perf_counter_ns()
            with watch.registry.lock:
                watch.memory.begin_step()
            watch.sampling.pay(time.perf_counter_ns() - start)

    def finish(self, optimizer: Any, data: dict[str, Any], since: int) -> int:
        """Take in the measured step. Return the cost of the look, including the time since `since`."""
        watch = self._watch
        watch.look.finish(optimizer, data.get("duration_ns", 0))
        with watch.registry.lock:
            watch.registry.settle()
            watch.memory.end_step()
            data.update(watch.memory.measures()[0])
        watch.checkpointing.tell(watch.link, watch.memory.device)
        data["layers"] = watch.look.layers.take()
        watch.link.event(STEP_END, 0, watch.step)
        return watch.look.spent_ns + time.perf_counter_ns() - since

    def keep(self, duration: int) -> int:
        """Find all that is kept beyond a step that had no hooks. Return the cost."""
        watch = self._watch
        start = time.thread_time_ns()
        watch.look.keep(sys._getframe(1), duration)
        with watch.registry.lock:
            watch.registry.settle()
        watch.looked_us = now_us()
        watch.link.event(STEP_BEGIN, 0, watch.step)  # after what was found: any step since the last look made it
        watch.link.event(STEP_END, 0, watch.step)
        return time.thread_time_ns() - start

    def pay(self, spent: int) -> None:
        """Pay for a look, in nanoseconds. A part of the cost of a first one occurs only once."""
        watch = self._watch
        paid = spent if watch.look.keeping.empty else spent - watch.look.kept_ns
        watch.sampling.pay(min(paid, CREDIT_NS // 2) if watch.look.first else paid)

    def _gauge(self, now: int) -> None:
        watch = self._watch
        if now - self._gauged < GAUGE_NS:
            return
        self._gauged = now
        watch.link.message(GAUGES, [watch.gauge_now()])
        watch.link.wake()  # the host measures the rest right when it comes

    def tell(self, data: dict[str, Any], used: list[tuple[str, str]], whole: bool, now: int) -> None:
        """Tell viewers of the ended step, of the changes made at its end, and of the machine's memory. `whole`: it was
        measured since its begin."""
        watch = self._watch
        if not watch.memory.host:
            used.append(("layer_times", "processor"))  # measured without waiting for the device
        if mixed := watch.look.survey.mixed:  # "off" would be true only of the agent's own
            used = [(key, value) for key, value in used if key != Precision.key]
            used.append(("autocast", f"{mixed}, by the program"))
        if watch.look.compiled:
            used.append(("layers", "not watched: the model is compiled"))
        data["settings"] = [{"key": key, "value": value} for key, value in sorted(used)]
        watch.link.message(STEP, data)
        while watch.changed:
            key, value = watch.changed[0]
            with watch.link.lock:
                note = watch.link.tables.note(metadata=f"{key}={value}")
            watch.link.event(SETTING_CHANGED, 0, watch.step + 1, note=note)
            del watch.changed[0]
        if whole and not watch.whole:
            watch.whole = True
            watch.link.describe()
        self._gauge(now)
