"""The setting `checkpoint`: which blocks are recomputed in the backward pass instead of keeping what they save."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from ..layers import Layers
from ..models import Models
from ..program import Json, Refused
from ..threads import touches
from . import hugging_face
from .again import Again
from .course import Record
from .obstacles import why_fixed, why_once
from .setting import unknown
from .standing import took_part
from .survey import Seen, Survey

Played = tuple[set[int], set[int]]  # recomputed calls, and those of them that no longer fill a cache

OFF, ALL, HALF = "off", "all", "half"


class Checkpointing:
    """See `setting.Setting`. Only blocks that free bytes when recomputed are chosen, as measured by the survey."""

    key = "checkpoint"
    once = False
    choices = (OFF, ALL, HALF)

    def __init__(self, models: Models, survey: Survey, layers: Layers) -> None:
        self._models = models
        self._survey = survey
        self._layers = layers
        self._undo: list[Any] = []  # functions that undo the value in use
        self._standing: list[Again] = []
        self._switched: list[Any] = []  # blocks of models with their own switch
        self.value = OFF

    @property
    def about(self) -> str:
        """One line. Once it is known, it says how many blocks can be recomputed."""
        text = "recompute blocks in the backward pass instead of keeping what they save"
        able = [seen for seen in self._survey.blocks if not self._why_not(seen)]
        left = next((f"{self._name(s)}: {self._why_not(s)}" for s in self._survey.blocks if self._why_not(s)), "")
        if not left or not able:
            return text
        return f"{text}; possible for {len(able)} of {len(self._survey.blocks)}, but not for {left}"

    def check(self, value: str) -> None:
        """Raise `Refused` where a value cannot be used."""
        if value == OFF:
            return
        self._survey.demand()
        if not self._survey.blocks:
            raise Refused("the model has no repeated blocks, or none of them has run")
        if not self._able():
            first = self._survey.blocks[0]
            raise Refused(f"{self._name(first)}: {self._why_not(first)}")
        chosen = self._chosen(value)
        if not chosen:
            raise Refused("the blocks save only their inputs, so recomputing them would free nothing")
        for model in {id(m): m for seen in chosen if (m := hugging_face.model_of(seen)) is not None}.values():
            if self.value == OFF and hugging_face.is_on(model):
                raise Refused("the program has gradient checkpointing on already")
            if value == HALF and not hugging_face.is_one_by_one([seen.module() for seen in chosen]):
                raise Refused("the model can checkpoint only all of its blocks, or none")

    @touches
    def ran(self) -> bool:
        """Report whether a block was recomputed in the step that ends; for a model's own switch, whether it is on."""
        if took_part(self._standing) or self.value == OFF:
            return True
        return any((m := reference()) is not None and hugging_face.is_on(m) for reference in self._switched)

    def foresee(self, value: str) -> Callable[[], Json | None]:
        """Predict how a value would change what the surveyed step needed. After another setting has changed, a new
        survey must come first."""
        record = self._survey.record
        if record is None or self._survey.outdated:
            return unknown
        before, after = self._chosen(self.value), self._chosen(value)
        now, then = ((_calls(seen), _calls(_uncached(seen))) for seen in (before, after))
        again = sum(seen.forward_ns for seen in after) - sum(seen.forward_ns for seen in before)
        timed = not torch.cuda.is_initialized()  # the processor's times are not those of a device
        return partial(_predicted, record, now, then, again if timed else None)

    def switch(self, value: str) -> None:
        """Use the value from now on."""
        self.check(value)
        self.restore()
        modules = [module for seen in self._chosen(value) if (module := seen.module()) is not None]
        within = {id(seen.module()): hugging_face.model_of(seen) for seen in self._chosen(value)}
        for module in modules:
            if within[id(module)] is None:
                again = Again(module, self._layers)
                again.put()
                self._standing.append(again)
                self._undo.append(again.remove)
            else:
                self._switched.append(weakref.ref(module))
        for model in {id(m): m for m in within.values() if m is not None}.values():
            self._undo.append(hugging_face.enable(model, modules))
        self.value = value
        self._survey.plain = value == OFF

    def restore(self) -> None:
        """Put everything back as the program made it."""
        while self._undo:
            self._undo.pop()()
        self._standing.clear()
        self._switched.clear()
        self.value = OFF
        self._survey.plain = True

    def _able(self) -> list[Seen]:
        return [seen for seen in self._survey.blocks if not self._why_not(seen)]

    def _chosen(self, value: str) -> list[Seen]:
        """Return the blocks that a value recomputes; for `half`, those that free the most bytes per second first."""
        record = self._survey.record
        if value == OFF or record is None:
            return []
        frees = {id(seen): sum(h.size for h in record.freed(set(seen.calls))) for seen in self._able()}
        able = [seen for seen in self._able() if frees[id(seen)] > 0]
        if value == ALL:
            return able
        able.sort(key=lambda seen: frees[id(seen)] / max(1, seen.forward_ns), reverse=True)
        left, chosen = sum(frees.values()) / 2, []
        for seen in able:
            if left > frees[id(seen)] / 2:  # with it the sum is nearer to half than without it
                chosen.append(seen)
                left -= frees[id(seen)]
        return chosen

    def _why_not(self, seen: Seen) -> str:
        module = seen.module()
        modules = [m for reference in seen.within if (m := reference()) is not None]
        if module is None:
            return "the module no longer exists"
        own = hugging_face.model_of(seen)
        seen_to = hugging_face.why_not(own, seen) if own is not None else seen.why_not
        return why_fixed([*modules, module]) or why_once(module) or seen_to

    def _name(self, seen: Seen) -> str:
        return self._models.name(seen.module())


def _uncached(chosen: Sequence[Seen]) -> list[Seen]:
    """Return the blocks that no longer fill a cache: those of models whose own switch is used."""
    return [seen for seen in chosen if hugging_face.model_of(seen) is not None]


def _predicted(record: Record, now: Played, then: Played, again: int | None) -> Json:
    before, after = record.play(*now), record.play(*then)
    return {
        "peak_allocated_bytes": after.peak - before.peak, "activation_bytes": after.activations - before.activations,
        "step_time_ns": again or 0, "step_time_known": again is not None,
    }  # fmt: skip


def _calls(chosen: Sequence[Seen]) -> set[int]:
    return {call for seen in chosen for call in seen.calls}
