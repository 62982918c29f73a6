"""The setting `checkpoint`: which blocks are recomputed in the backward pass instead of keeping what they save."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..hooks.layers import Layers
from ..hooks.models import Models
from ..link.program import Json, Refused
from ..safety.threads import touches
from . import hugging_face
from .checkpointed_forward import CheckpointedForward
from .course import Needs, Record
from .obstacles import why_fixed, why_once
from .replaced_forward import took_part
from .setting import unknown
from .survey import Seen, Survey

OFF, ALL, HALF = "off", "all", "half"
LAYERS = "layers="  # followed by the names of blocks, or of layers that contain blocks, joined by +


class Checkpointing:
    """See `setting.Setting`. Only blocks that free bytes when recomputed are chosen, as measured by the survey."""

    key = "checkpoint"
    once = False
    choices = (OFF, ALL, HALF)
    names = LAYERS

    def __init__(self, models: Models, survey: Survey, layers: Layers) -> None:
        self._models = models
        self._survey = survey
        self._layers = layers
        self._undo: list[Any] = []  # functions that undo the value in use
        self._standing: list[CheckpointedForward] = []
        self._switched: list[Any] = []  # blocks of models with their own switch
        self.value = OFF

    @property
    def about(self) -> str:
        """One line. Once it is known, it says how many blocks can be recomputed."""
        text = "recompute blocks in the backward pass instead of keeping what they save; also layers=NAME+…"
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
        if value.startswith(LAYERS):
            self._check_names(value)
        chosen = self._chosen(value)
        if not chosen:
            raise Refused("the blocks save only their inputs, so recomputing them would free nothing")
        for model in {id(m): m for seen in chosen if (m := hugging_face.model_of(seen)) is not None}.values():
            if self.value == OFF and hugging_face.is_on(model):
                raise Refused("the program has gradient checkpointing on already")
            if value != ALL and not hugging_face.is_one_by_one([seen.module() for seen in chosen]):
                raise Refused("the model can checkpoint only all of its blocks, or none")

    def _check_names(self, value: str) -> None:
        """Raise `Refused` where a name stands for no block that may be recomputed."""
        names = [self._name(seen) for seen in self._survey.blocks]
        for name in value[len(LAYERS) :].split("+"):
            inside = [seen for seen, own in zip(self._survey.blocks, names) if within(own, name)]
            if not inside:
                block = next((own for own in names if within(name, own)), "")
                raise Refused(f"{name} is a part of {block}: choose that" if block else f"{name} is no repeated block")
            if all(self._why_not(seen) for seen in inside):
                raise Refused(f"{self._name(inside[0])}: {self._why_not(inside[0])}")

    @touches
    def ran(self) -> bool:
        """Report whether a block was recomputed in the step that ends; for a model's own switch, whether it is on."""
        if took_part(self._standing) or self.value == OFF:
            return True
        return any((m := reference()) is not None and hugging_face.is_on(m) for reference in self._switched)

    def foresee(self) -> Callable[[str], Json | None]:
        """Predict how a value would change what the surveyed step needed. After another setting has changed, a new
        survey must come first."""
        record = self._survey.record
        if record is None or self._survey.outdated:
            return unknown
        plans = {value: [self._plan(seen) for seen in self._chosen(value)] for value in (*self.choices, self.value)}
        return partial(_predicted, record, plans, self.value)

    def switch(self, value: str) -> None:
        """Use the value from now on."""
        self.check(value)
        self.restore()
        modules = [module for seen in self._chosen(value) if (module := seen.module()) is not None]
        within = {id(seen.module()): hugging_face.model_of(seen) for seen in self._chosen(value)}
        for module in modules:
            if within[id(module)] is None:
                again = CheckpointedForward(module, self._layers)
                self._undo.append(again.remove)  # first: a signal handler may raise after any line
                self._standing.append(again)
                again.put()
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
        if value != HALF:
            return [seen for seen in able if is_named(self._name(seen), value)]
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

    def _plan(self, seen: Seen) -> Plan:
        return Plan(self._name(seen), set(seen.calls), hugging_face.model_of(seen) is not None)


class Plan(NamedTuple):
    """A block that is to be recomputed, in plain values."""

    name: str
    calls: set[int]
    uncached: bool  # it no longer fills a cache: its model's own switch is used


def within(name: str, around: str) -> bool:
    """Report whether a layer is another one or a part of it."""
    return f"{name}.".startswith(f"{around}.")


def is_named(name: str, value: str) -> bool:
    """Report whether a value that names layers means a block."""
    return any(within(name, each) for each in value[len(LAYERS) :].split("+"))


def _predicted(record: Record, plans: Mapping[str, Sequence[Plan]], now: str, value: str) -> Json | None:
    old, new = plans[now], plans.get(value, [plan for plan in plans[ALL] if is_named(plan.name, value)])
    if not new and value != OFF:
        return None
    before, after = _play(record, old), _play(record, new)
    activations = after.activations - before.activations
    return {"peak_allocated_bytes": after.peak - before.peak, "activation_bytes": activations}


def _play(record: Record, plans: Sequence[Plan]) -> Needs:
    again = set().union(*(plan.calls for plan in plans))
    return record.play(again, set().union(*(plan.calls for plan in plans if plan.uncached)))
