"""The setting `checkpoint`: which blocks are recomputed in the backward pass instead of keeping what they save."""

from __future__ import annotations

import weakref
from typing import Any

from ..hooks.graphs import SHOWN
from ..hooks.layers import Layers
from ..hooks.models import Models
from ..link.program import Refused
from ..link.queue import Link
from ..safety.threads import touches
from . import hugging_face
from .checkpointed_forward import CheckpointedForward
from .obstacles import why_fixed, why_once
from .precision import Precision
from .replaced_forward import took_part
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
            frees_nothing = "the blocks save only their inputs, so recomputing them would free nothing"
            raise Refused(frees_nothing if SHOWN else "this release of PyTorch does not show what the blocks save")
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

    def tell(self, link: Link, device: int) -> None:
        """Send a surveyed step that has just ended to memtop's host, with the blocks that can be recomputed. The host
        predicts from it until a setting has changed that changes what a step needs."""
        record = self._survey.record
        if record is None or not self._survey.ended:
            return
        self._survey.ended, half = False, self._chosen(HALF)
        blocks = [
            (self._name(seen), seen.calls, seen in half, hugging_face.model_of(seen) is not None)
            for seen in self._chosen(ALL)
        ]
        link.survey(device, record.storages(), record.moments, blocks, [(Precision.key, record.amp)])

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

    def able(self) -> list[tuple[Seen, int]]:
        """Return the blocks that free memory when they are recomputed, and how many bytes each, in the order in which
        the model has them."""
        record = self._survey.record
        frees = [] if record is None else [(seen, record.freed(seen.calls)) for seen in self._able()]
        return [(seen, freed) for seen, freed in frees if freed > 0]

    def _able(self) -> list[Seen]:
        return [seen for seen in self._survey.blocks if not self._why_not(seen)]

    def _chosen(self, value: str) -> list[Seen]:
        """Return the blocks that a value recomputes; for `half`, those that free the most bytes per second first."""
        if value == OFF:
            return []
        found = self.able()
        frees = {id(seen): freed for seen, freed in found}
        able = [seen for seen, _ in found]
        if value == ALL:
            return able
        if value != HALF:
            names = value[len(LAYERS) :].split("+")
            return [seen for seen in able if any(within(self._name(seen), name) for name in names)]
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


def within(name: str, around: str) -> bool:
    """Report whether a layer is another one or a part of it."""
    return f"{name}.".startswith(f"{around}.")
