"""A look: what is of the agent within a step that it looks at, and what that costs.

Hooks come with the step and go with it. A look belongs to the thread that trains.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from .compiled import compiles
from .control.course import Course
from .control.survey import Survey
from .gathering import Gathering
from .gradients import PAUSE, Gradients
from .guard import Guard
from .layers import Layers
from .models import Models
from .names import Names
from .registry import Registry
from .sampling import Sampling
from .saved import SavedTensors
from .stacks import Stacks
from .steppers import Steppers
from .threads import touches


class Look:
    """Looks at one step after another, or not. What it sees goes to the registry."""

    def __init__(
        self, models: Models, registry: Registry, course: Course, stacks: Stacks, guard: Guard, steppers: Steppers
    ) -> None:
        self.layers = Layers(models, registry, self._new_model, guard)
        self.saved = SavedTensors(guard(self._saved))
        self.gathering = Gathering(models, registry, steppers)
        self.gradients = Gradients(models, registry, guard)
        self.survey = Survey(models, registry, course)
        self.names = Names(registry, stacks)
        self.compiled = False  # from then on nothing is hooked within steps
        self.news = False  # what may be changed may be something else than before
        self.on = False
        self._models = models
        self._registry = registry
        self._course = course
        self._scanning = Sampling(share=0.001, credit_ns=1)
        self._step = 0  # that is looked at
        self.first = True  # look since a viewer came
        self._anew = True  # the next one will be
        self._spent = 0
        self.scan_ns = 0  # of it by a scan, which has a purse of its own

    def renew(self) -> None:
        """Have the next look be a first one: a viewer came."""
        self._anew = True
        self.survey.renew()

    @property
    def spent_ns(self) -> int:
        """What the look has cost within its step, in nanoseconds."""
        return self._spent + self.layers.spent_ns + self.gradients.spent_ns + self.survey.spent_ns

    @touches
    def turn(self, step: int, optimizer: Any, wanted: bool) -> None:
        """Look at the step that begins, or at none."""
        looked, self.on = self.on, wanted
        self._step, self.first = step, self._anew
        self.scan_ns = self._spent = self.layers.spent_ns = self.gradients.spent_ns = self.survey.spent_ns = 0
        if not wanted:
            self.leave()
            return
        self._anew = False
        if not looked or self.first:
            self.gathering.scan() if self.first else self.gathering.model()  # a scan shows the models too
            self.gathering.optimizer(optimizer)
        if not self.compiled and compiles(self._models):
            self.compiled = self.survey.compiled = self.news = True
        self._hook()

    @touches
    def _hook(self) -> None:
        if self.compiled:
            self.leave()
            return
        self.gradients.begin()
        self.layers.on()
        self.saved.on()
        self.gradients.on()
        self.survey.begin()

    @touches
    def leave(self) -> None:
        """Take all hooks away."""
        self.survey.leave()
        self.layers.off()
        self.saved.off()
        self.gradients.off()

    @touches
    def finish(self, optimizer: Any, duration_ns: int) -> None:
        """Take up what the step made that has ended, after so long."""
        self.news = self.survey.end() or self.news
        self.gathering.optimizer(optimizer, anew=self.compiled)  # what this step made
        self.names.show(sys._getframe(1))
        if self._scanning.next(duration_ns):
            start = time.perf_counter_ns()
            self.gathering.scan()
            self.scan_ns = time.perf_counter_ns() - start
            self._scanning.pay(self.scan_ns)

    @touches
    def _new_model(self) -> None:
        self.gathering.model()
        self.gradients.off()
        self.gradients.on()

    @touches
    def _saved(self, tensor: Any) -> None:
        start = time.perf_counter_ns()
        layer = self.layers.current
        # Outside of all layers, what is saved and no result of arithmetic is a loss's targets.
        data = layer is None and not tensor.dtype.is_floating_point
        category = "input" if data else "activation"
        holding = self._registry.see(tensor, category, layer or "", "target" if data else "saved", None)
        self._course.saved(holding)
        if holding is not None and holding.saved_in != self._step and holding.category == "activation":
            holding.saved_in = self._step
            self.layers.saved(holding.size)
        self._registry.settle(PAUSE)
        self._spent += time.perf_counter_ns() - start
