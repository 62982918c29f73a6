"""Gradients, as soon as they exist: a hook on each parameter, called when its gradient is complete."""

from __future__ import annotations

import time
from typing import Any, Callable

from ..memory.registry import Registry
from ..names.categories import place_of_gradient
from ..safety.guard import Guard
from ..safety.threads import touches
from .graphs import is_leaf
from .models import Models, parameters_of


@touches
class Gradients:
    """Shows the registry each gradient. `on` and `off` belong to the training thread."""

    def __init__(self, models: Models, registry: Registry, guard: Guard) -> None:
        self._guard = guard
        self._models = models
        self._registry = registry
        self.handles: list[Any] = []
        self.spent_ns = 0

    def on(self) -> None:
        """Register a hook on each trained parameter."""
        if self.handles:
            return
        for model in self._models:
            for path, parameter in parameters_of(model):
                if parameter.requires_grad and is_leaf(parameter):
                    layer, _, role = (self._models.parameter(parameter) or path).rpartition(".")
                    hook = self._guard(self._hook(layer, role))
                    self.handles.append(parameter.register_post_accumulate_grad_hook(hook))

    def off(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def _hook(self, layer: str, role: str) -> Callable[[Any], None]:
        @touches
        def ready(parameter: Any) -> None:
            start = time.perf_counter_ns()
            if parameter.grad is not None:
                self._registry.see(parameter.grad, "gradient", *place_of_gradient(parameter.grad, layer, role), 0)
            self._registry.settle()
            self.spent_ns += time.perf_counter_ns() - start

        return ready
