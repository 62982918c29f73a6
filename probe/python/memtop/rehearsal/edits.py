"""Lines that the user could write into the program, before the one that makes an optimizer.

A first rehearsal finds out where they would stand and which blocks they may name. Another one executes the lines there,
so what it measures is what the user's program takes with them.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import sys
import weakref
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import torch
from torch.nn.modules.batchnorm import _NormBase

from ..link.program import Refused
from ..memory.stacks import place_of, variables_of
from ..safety.threads import called_by_pytorch, touches
from ..settings import hugging_face
from ..settings.checkpointing import ALL
from ..settings.precision import BF16, Precision
from ..settings.survey import Seen
from .imitated import note, told

PATIENCE = 6  # steps until the blocks must be known


class Place(NamedTuple):
    """A line that makes an optimizer, and the module that it optimizes, as a variable of that line's frame."""

    file: str
    line: int
    expression: str
    module: weakref.ref[Any]
    fused: str = ""  # the name of the optimizer's class, if it has a fused form


class Edits:
    """Belongs to the thread that trains."""

    def __init__(self) -> None:
        self.survey = told()["survey"]
        self._edit = told()["edit"]
        self._made = False
        self._places: list[Place] = []

    def begin(self) -> None:
        """Wait for the program to make an optimizer, if there is something to find out or to execute."""
        kind: Any = torch.optim.Optimizer
        if self._edit:
            kind.__new__ = staticmethod(self._new)  # which runs before the optimizer takes its arguments
        if self.survey:
            made = kind.__init__

            @functools.wraps(made)
            def noted(optimizer: Any, *arguments: Any, **named: Any) -> None:
                made(optimizer, *arguments, **named)
                self._note_place(optimizer)

            kind.__init__ = noted

    @called_by_pytorch
    def _new(self, kind: Any, *_: Any, **__: Any) -> Any:
        frame = None if self._made else place_of(sys._getframe(1))
        while frame is not None:
            if frame.f_code.co_filename == self._edit["file"] and _statement(frame) == self._edit["line"]:
                self._made = True
                exec(self._edit["text"], {**frame.f_globals, **variables_of(frame)})  # it only changes objects
                note("changed")
                break
            frame = place_of(frame.f_back)
        return object.__new__(kind)

    @called_by_pytorch
    def _note_place(self, optimizer: Any) -> None:
        parameters = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if (place := _find(sys._getframe(1), parameters)) is not None:
            self._places.append(place._replace(fused=_fused_form(type(optimizer))))

    def surveyed(self, watch: Any, step: int) -> bool:
        """Have the next steps measured. Report whether all is known that can be."""
        watch.want(True)
        return watch.look.survey.record is not None or step >= PATIENCE

    @touches
    def tell(self, watch: Any) -> None:
        """Report what an edit may name, and where it would stand."""
        chosen = _refusal(watch.checkpointing.check, ALL)
        able = watch.checkpointing.able() if not chosen else []
        places = [(names, place) for place in self._places if (names := _names(place.module()))]
        names, place = max(places, key=lambda each: sum(id(s.module()) in each[0] for s, _ in able), default=({}, None))
        if place is None:
            return
        inside = [(seen, freed) for seen, freed in able if id(seen.module()) in names]
        inside.sort(key=lambda each: each[0].calls[0])  # as the forward pass runs them
        models = [m for seen, _ in inside if (m := hugging_face.model_of(seen)) is not None]
        note(
            "model", file=place.file, line=place.line, expression=place.expression, fused=place.fused,
            blocks=[{"name": names[id(seen.module())], "frees_bytes": freed} for seen, freed in inside],
            kept=[names[id(part)] for part in _alike([seen.module() for seen, _ in inside], names, place.module())],
            norms=any(map(_counts, inside)),
            switch=next((names[id(model)] for model in models if id(model) in names), None),
            one_by_one=hugging_face.is_one_by_one([seen.module() for seen, _ in inside]),
            trained=[names[id(model)] for model in watch.look.survey.trained if id(model) in names],
            not_recomputed=chosen, not_autocast=_refusal(Precision(watch.look.survey).check, BF16),
        )  # fmt: skip


def _refusal(check: Any, value: str) -> str:
    """Return why a setting cannot have a value, "" if it can."""
    try:
        check(value)
    except Refused as refused:
        return str(refused)
    return ""


@touches
def _names(module: Any) -> dict[int, str]:
    """Return the names of a module's parts, by id."""
    return {} if module is None else {id(part): name for name, part in module.named_modules()}


@touches
def _counts(block: tuple[Seen, int]) -> bool:
    """Report whether a block has a layer that counts running statistics, which a second forward pass updates again."""
    module = block[0].module()
    return module is not None and any(isinstance(p, _NormBase) and p.track_running_stats for p in module.modules())


@touches
def _alike(blocks: list[Any], names: dict[int, str], module: Any) -> Iterator[Any]:
    """Yield the parts of the same classes that are no such blocks: a model's own switch would recompute them, too."""
    kinds, chosen = {type(block) for block in blocks}, {id(block) for block in blocks}
    for part in module.modules():
        if type(part) in kinds and id(part) not in chosen and id(part) in names:
            yield part


def _fused_form(kind: Any) -> str:
    """Return the name of an optimizer of PyTorch's that has a fused form, "" for others."""
    own = getattr(torch.optim, kind.__name__, None) is kind
    return kind.__name__ if own and "fused" in (kind.__init__.__kwdefaults__ or ()) else ""


@touches
def _find(frame: FrameType | None, parameters: set[int]) -> Place | None:
    """Return the outermost line of the program's own code on the stack with a variable for the module that has most of
    some parameters, None if there is none."""
    found = None
    while (frame := place_of(frame)) is not None:
        expression, module = _holder(frame, parameters)
        if module is not None and (line := _statement(frame)):
            found = Place(frame.f_code.co_filename, line, expression, weakref.ref(module))
        frame = frame.f_back
    return found


@touches
def _holder(frame: FrameType, parameters: set[int]) -> tuple[str, Any]:
    """Return the variable of a frame, or the attribute of one, whose module has the most of some parameters. Of equal
    ones it is the outermost."""

    def rank(named: tuple[str, Any]) -> tuple[int, int, int]:
        module = named[1]
        return len(parameters & {id(p) for p in module.parameters()}), sum(1 for _ in module.modules()), -len(named[0])

    modules = {named: rank(named) for named in _modules_in(frame)}
    best = max(modules, key=modules.__getitem__, default=("", None))
    return best if modules and modules[best][0] else ("", None)


@touches
def _modules_in(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the modules among a frame's variables, and among the attributes of its local ones."""
    local = variables_of(frame)
    for name, value in {**frame.f_globals, **local}.items():
        if isinstance(value, torch.nn.Module):
            yield name, value
        elif name in local and name.isidentifier() and not isinstance(value, (type, ModuleType)):
            with contextlib.suppress(TypeError):  # it has no attributes
                yield from ((f"{name}.{k}", v) for k, v in vars(value).items() if isinstance(v, torch.nn.Module))


def _statement(frame: FrameType) -> int:
    """Return the line where the statement begins that a frame executes, 0 if a line cannot be put before it."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    lines = linecache.getlines(file, frame.f_globals)
    try:
        nodes = ast.walk(ast.parse("".join(lines)))
    except SyntaxError:
        return 0
    around = [n for n in nodes if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    return max((n.lineno for n in around if not lines[n.lineno - 1][: n.col_offset].strip()), default=0)
