"""A look: the agent's measurement of one step, with hooks that are there for that step only, and its cost.

A look belongs to the training thread.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from ..hooks.gradients import Gradients
from ..hooks.layers import Layer, Layers
from ..hooks.models import Models
from ..hooks.optimizer_threads import OptimizerThreads
from ..hooks.saved_tensors import SavedTensors
from ..memory.registry import Registry
from ..memory.stacks import Stacks
from ..names.categories import Gathering
from ..names.sharded import Sharded
from ..names.variables import Names
from ..safety.compiled import compiles
from ..safety.guard import Guard
from ..safety.threads import touches
from ..settings.course import Course
from ..settings.survey import Survey
from .sampling import SHARE, Purse, Sampling

# What finding all that is kept may cost: a share of the program's time, and nanoseconds at once.
KEEPING, KEEPING_NS = SHARE / 4, 100_000_000
SCANNING, SCANNING_NS = SHARE / 6, 100_000_000
# After a viewer came, so many looks at least are made within so many steps: growth shows between steps far apart.
FEW, SOON = 6, 20


class Look:
    """Measures one step after another while it is told to, and shows the registry what it finds."""

    def __init__(
        self,
        models: Models,
        registry: Registry,
        course: Course,
        stacks: Stacks,
        guard: Guard,
        steppers: OptimizerThreads,
    ) -> None:
        self.saved = SavedTensors(self._saved, guard)
        self.layers = Layers(models, registry, self._new_model, guard, self.saved)
        self.gathering = Gathering(models, registry, steppers)
        self.gradients = Gradients(models, registry, guard)
        self.sharded = Sharded(registry, guard)
        self.survey = Survey(models, registry, course)
        self.names = Names(registry, stacks, models)
        self.compiled = False  # the program uses torch.compile: no step gets hooks any more
        self.news = False  # the settings that a viewer may change may have changed
        self.on = False
        self._trains = True  # the measured step is one of an optimizer
        self._models = models
        self._steppers = steppers
        self._registry = registry
        self._course = course
        self.purse = purse = Purse()
        self.keeping = Sampling(KEEPING, KEEPING_NS, purse)
        self._scanning = Sampling(SCANNING, SCANNING_NS, purse)
        self._step = 0  # the step that is measured
        self.first = True  # this is the first look since a viewer came
        self._anew = True  # the next look is a first one
        self._scanned = False  # at the end of the step that has just ended
        self._spent = 0
        self.kept_ns = 0  # what finding all that is kept has cost; it has its own budgets

    def renew(self) -> None:
        """Make the next look a first one: a viewer has come."""
        self._anew = True
        self.keeping.begin(FEW, SOON)
        self._scanning.begin(0, SOON)
        self.survey.renew()

    @property
    def spent_ns(self) -> int:
        """What the look has cost within its step, in nanoseconds."""
        return self._spent + self.layers.spent_ns + self.gradients.spent_ns + self.survey.spent_ns

    @touches
    def turn(self, step: int, optimizer: Any, wanted: bool) -> None:
        """Measure the step that begins if `wanted`, otherwise remove the hooks. Without an optimizer the step is a
        call of a model, which saves nothing and makes no gradients."""
        looked, self.on = self.on, wanted
        self._step, self.first = step, self._anew
        self._spent = self.layers.spent_ns = self.gradients.spent_ns = self.survey.spent_ns = 0
        scanned, self._scanned = self._scanned, False
        if not wanted:
            self.leave()
            return
        self._anew = False
        self._registry.settle_gathered()
        self.sharded.on()
        if not looked or self.first:
            # A scan also shows the models.
            self.gathering.scan() if self.first and not scanned else self.gathering.model()
            self._optimizers(optimizer)
        if not self.compiled and compiles(self._models):
            self.stand_aside()
        self._trains = optimizer is not None
        if self._trains:
            self._hook()

    @touches
    def _optimizers(self, leading: Any, anew: bool = False) -> None:
        """Show what the optimizers of this thread hold: the leading one, and those that step beside it."""
        for optimizer in self._steppers.mine() if leading is not None else ():
            self.gathering.optimizer(optimizer, anew)

    @touches
    def _hook(self) -> None:
        if self.compiled:
            self.leave()
            return
        self.layers.on()
        self.saved.on()
        self.gradients.on()
        self.survey.begin()

    def stand_aside(self) -> None:
        """Have no more hooks: the program begins to compile, in any of its threads. The training thread tidies up."""
        self.compiled = self.survey.compiled = self.news = True
        for handle in (*self.layers.handles, *self.survey.handles, *self.gradients.handles):
            handle.remove()

    @touches
    def leave(self) -> None:
        """Remove all hooks."""
        self.sharded.off()
        self.survey.leave()
        self.layers.off()
        self.saved.off()
        self.gradients.off()

    @touches
    def finish(self, optimizer: Any, duration_ns: int) -> None:
        """Take in what the ended step made. The step took `duration_ns`."""
        self.news = self.survey.end() or self.news
        self._optimizers(optimizer, anew=self.compiled)  # what this step made
        self.keep(sys._getframe(1), duration_ns)

    @touches
    def keep(self, frame: Any, duration_ns: int) -> None:
        """Find all that is kept beyond the step that has just ended, whatever step made it. `frame` is that of the
        program's thread."""
        start = time.thread_time_ns()
        self.names.show(frame)
        named = time.thread_time_ns()
        self.keeping.pay(named - start)
        self._scanned = self._scanning.next(duration_ns)
        if self._scanned:
            self.gathering.scan()
            self._scanning.pay(time.thread_time_ns() - named)
        self.kept_ns = time.thread_time_ns() - start

    @touches
    def _new_model(self) -> None:
        self.gathering.model()
        self.gradients.off()
        if self._trains:
            self.gradients.on()

    @touches
    def _saved(self, tensor: Any, row: Layer | None) -> None:
        start = time.perf_counter_ns()
        layer = row.name if row is not None else self.layers.current
        # An integer tensor saved outside all layers holds the targets of a loss.
        data = layer is None and not tensor.dtype.is_floating_point
        category = "input" if data else "activation"
        holding = self._registry.see(tensor, category, layer or "", "target" if data else "saved", None)
        self._course.saved(holding)
        if holding is not None and holding.saved_in != self._step:
            holding.saved_in = self._step
            if row is not None and holding.category == "activation":
                row.keep(holding)
        self._registry.settle()
        if row is None:  # otherwise it is part of what the layers spend
            self._spent += time.perf_counter_ns() - start
