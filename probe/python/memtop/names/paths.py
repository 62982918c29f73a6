"""The ways from a program's variables to its tensors, and the lines of code that keep them.

A way's path has "[…]" for any place in a container, so that everything that one list keeps has one path.
Nothing here calls the program's code.
"""

from __future__ import annotations

import dis
import gc
import sys
import types
from collections import OrderedDict
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

import torch

from ..memory.stacks import variables_of
from ..safety.inspection import fields_of, is_a, items_of, module_of

DEEPEST = 4  # steps from a variable to a tensor
MOST = 20_000  # the most values of one container
ITEM = "[…]"
LOADING = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
STORING = ("STORE_FAST", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR")
ADDING = frozenset(("append", "extend", "add", "insert", "update", "setdefault", "appendleft"))
OPAQUE = (type, types.ModuleType, torch.optim.Optimizer)
_RAISED = [vars(BaseException)[name].__get__ for name in ("__traceback__", "__cause__", "__context__")]
SHOWN = frozenset(("_parameters", "_buffers", "_modules"))  # what other parts of the agent show of a module
BUILT_IN = frozenset(vars(torch.nn.Module()))  # what every module has, most of it empty
EMPTY = (dict, OrderedDict, set)
FSDP = "torch.distributed.fsdp."  # whose many objects have what its modules show


class VariablePath(NamedTuple):
    """A value, and the path that led to it."""

    value: Any
    path: str
    name: str  # of the last variable or attribute on the path
    owner: Any  # the function or class that has this variable or attribute
    left: int  # how many steps it may still go

    @property
    def keeper(self) -> str:
        """The path to the container that keeps the value, "" if none does."""
        return self.path[: self.path.rfind(ITEM) + len(ITEM)] if ITEM in self.path else ""


def inside(way: VariablePath) -> Iterator[VariablePath]:
    """Yield the ways to the values that a value holds."""
    value = way.value
    for item in items_of(value)[-MOST:]:
        if _may_lead_on(item):
            yield VariablePath(item, way.path + ITEM, way.name, way.owner, way.left - 1)
    if type(value) is types.FunctionType:
        yield from _closed_over(way, value)
    elif is_a(value, BaseException):
        yield from _raised(way, value)
    elif not _is_opaque(value):
        built_in = BUILT_IN if is_a(value, torch.nn.Module) else ()
        for name, item in list(fields_of(value).items()):
            passed = name in built_in and (name in SHOWN or (type(item) in EMPTY and not item))
            if not passed and _may_lead_on(item):
                yield VariablePath(item, f"{way.path}.{name}", name, type(value), way.left - 1)


def _is_opaque(value: Any) -> bool:
    """Report whether a value's attributes are not followed."""
    return is_a(value, OPAQUE) or (module_of(value).startswith(FSDP) and not is_a(value, torch.nn.Module))


def _may_lead_on(value: Any) -> bool:
    """Report whether a value may hold a tensor, or be a container that grows. The collector does not track what holds
    nothing, such as a number, nor a dict of such."""
    return gc.is_tracked(value) or type(value) is dict


def _closed_over(way: VariablePath, function: types.FunctionType) -> Iterator[VariablePath]:
    kept = way.path.endswith(ITEM)  # the container that keeps the function also keeps its variables
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        by, owner = (way.name, way.owner) if kept else (name, function.__code__)
        if cell != types.CellType():  # the cell has a value
            yield VariablePath(cell.cell_contents, f"{way.path}.{name}", by, owner, way.left - 1)


def _raised(way: VariablePath, error: BaseException) -> Iterator[VariablePath]:
    """Yield the variables of the frames that an exception's traceback keeps."""
    trace, *causes = (get(error) for get in _RAISED)
    for name, value in traced(trace):
        yield VariablePath(value, f"{way.path} traceback {name}", way.name, way.owner, way.left - 1)
    for cause in causes:
        if cause is not None:
            yield VariablePath(cause, way.path, way.name, way.owner, way.left - 1)


def traced(trace: TracebackType | None) -> Iterator[tuple[str, Any]]:
    """Yield the variables of a traceback's frames that have ended: name and value."""
    while trace is not None:
        frame: FrameType = trace.tb_frame
        if not _runs(frame):
            for name, value in variables_of(frame).items():
                yield f"{frame.f_code.co_name}.{name}", value
        trace = trace.tb_next


def _runs(frame: FrameType) -> bool:
    """Report whether a frame still runs in this thread: its variables are shown with those of the running frames."""
    running: FrameType | None = sys._getframe()
    while running is not None:
        if running is frame:
            return True
        running = running.f_back
    return False


def codes_of(owner: Any) -> list[CodeType]:
    """Return the code that may add to a name's value: a function, or the functions of a class or a module, each with
    the functions in it."""
    if type(owner) is CodeType:
        return _with_inner(owner)
    names = list((owner if type(owner) is dict else vars(owner)).values())
    codes = [code for f in names if type(f) is types.FunctionType for code in _with_inner(f.__code__)]
    if type(owner) is dict:
        own = [kind for kind in names if is_a(kind, type) and kind.__module__ == owner.get("__name__")]
        codes += [code for kind in own for code in codes_of(kind)]
    return codes


def _with_inner(code: CodeType) -> list[CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(deeper for each in inner for deeper in _with_inner(each))]


def adding_lines(code: CodeType, name: str) -> list[int]:
    """Return the lines of a function that add to a variable or attribute of this name."""
    found: dict[int, None] = {}
    loaded, loaded_at = False, -1
    for step, line in _steps(code):
        if step.opname.startswith(LOADING):
            loaded = name in _names(step)
            loaded_at = line if loaded else loaded_at
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if loaded and step.argval in ADDING:
                found[line] = None
            loaded = step.argval == name
            loaded_at = line if loaded else loaded_at
        elif step.opname == "STORE_SUBSCR" and line == loaded_at:
            found[line] = None
    return list(found)


def setting_lines(code: CodeType, name: str) -> list[int]:
    """Return the lines of a function that make the value of a variable or attribute of this name from its last one,
    such as `total += loss`; without such lines those that give it a value."""
    renewing, giving = _storing_lines(code, name)
    return renewing or giving


def renewing_lines(code: CodeType, name: str) -> list[int]:
    """Return the lines of a function that make the value of a variable or attribute of this name from its last one."""
    return _storing_lines(code, name)[0]


def _storing_lines(code: CodeType, name: str) -> tuple[list[int], list[int]]:
    made: dict[int, None] = {}
    given: dict[int, None] = {}
    loaded_at = -1
    for step, line in _steps(code):
        if name not in _names(step):
            continue
        if step.opname.startswith(STORING):
            (made if line == loaded_at else given)[line] = None
        else:
            loaded_at = line
    return list(made), list(given)


def _steps(code: CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    """Yield a function's instructions and their lines."""
    lines = dict(dis.findlinestarts(code))
    line = 0
    for step in dis.get_instructions(code):
        line = lines.get(step.offset) or line
        yield step, line


def _names(step: dis.Instruction) -> tuple[Any, ...]:
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)
