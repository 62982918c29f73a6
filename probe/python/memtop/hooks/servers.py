"""Whose calls are steps: the models of a program that computes without an optimizer, such as a server.

Each call of the leading model is a step. A call of another model, one within a running call, and one of
a second thread at the same time are none.
"""

from __future__ import annotations

from typing import Any

import torch

from ..safety.compiled import has_compiled
from ..safety.threads import touches
from .leading_optimizer import LeadingOptimizer
from .served_forward import Begin, End, ServedForward

MOST = 8  # models that are followed


@touches
class Servers:
    """Follows models. It belongs to the threads that call them; they take turns by the lock of `Watch`."""

    def __init__(self, begin: Begin, end: End) -> None:
        self._begin = begin
        self._end = end
        self._leader = LeadingOptimizer()
        self._followed: dict[int, ServedForward] = {}  # by id of the model
        self.trains = False  # the program trains, so no call is a step

    def follow(self, model: Any) -> None:
        """Tell of the calls of a model from the next one on, if the program only computes, as far as is known. Not
        with `torch.compile`: a new forward would make it compile again."""
        known = self._followed.get(id(model))
        if (known is not None and known.module is model) or len(self._followed) >= MOST:
            return
        if self.trains or torch.is_grad_enabled() or has_compiled() or not _can_follow(model):
            return
        served = self._followed[id(model)] = ServedForward(model, self._begin, self._end)
        served.put()

    def is_step(self, model: Any) -> bool:
        """Report whether the call of a followed model that begins is a step."""
        if torch.is_grad_enabled():
            self.trains = self.trains or bool(model.training)  # without an optimizer of PyTorch's
            return False
        return not self.trains and self._leader.leads(model)

    def leave(self) -> None:
        """Follow none, and leave nothing in the program."""
        for known in list(self._followed):
            if (served := self._followed.pop(known, None)) is not None:  # another thread may leave as well
                served.remove()


@touches
def _can_follow(model: Any) -> bool:
    """Report whether a call of the model finds its forward in the model."""
    kinds = {kind.__name__ for kind in type(model).__mro__}
    return not kinds & {"OptimizedModule", "ScriptModule"} and hasattr(type(model), "forward")
