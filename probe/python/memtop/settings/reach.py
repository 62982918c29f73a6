"""What a module's forward can reach besides its arguments: the program's functions that its code names, and their
variables. Nothing of the program is executed: only dictionaries, cells and code are read."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from ..safety.interrupts import ignored
from ..safety.threads import touches

_MOST = 512  # functions of one module
_OTHERS = frozenset({"torch", "numpy", *getattr(sys, "stdlib_module_names", ())})  # whose code keeps no such state
_OWN = frozenset(torch.nn.Module().__dict__)  # what PyTorch keeps in a module
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL")


class Reach:
    """The functions and variables within reach of a module's forward."""

    @touches
    def __init__(self, module: Any) -> None:
        self._classes = {kind for part in module.modules() for kind in type(part).__mro__ if _is_program(kind)}
        self._modules = list(module.modules())
        self.functions: dict[int, FunctionType] = {}
        self._variables: dict[tuple[int, str], tuple[Mapping[str, Any], str]] = {}
        waiting = [v for kind in self._classes if (v := vars(kind).get("forward")) is not None]
        waiting += [v for part in self._modules for v in part.__dict__.values()]
        while waiting and len(self.functions) < _MOST:
            for function in _functions_in(waiting.pop()):
                if id(function) not in self.functions and _is_program(function):
                    self.functions[id(function)] = function
                    waiting += self._named_by(function)

        self.written = self._writes()  # the name of a variable outside of it that it assigns, "" if there is none

    def _writes(self) -> str:
        for function in self.functions.values():
            for code in _codes(function.__code__):
                free = set(code.co_freevars) & set(function.__code__.co_freevars)
                for step in dis.get_instructions(code):
                    if step.opname in _WRITES or (step.opname == "STORE_DEREF" and step.argval in free):
                        return str(step.argval)
        return ""

    def variables(self) -> Iterator[tuple[str, Any]]:
        """Yield the present values of all variables, with names for a message."""
        for part in self._modules:
            for name, value in part.__dict__.items():
                if name not in _OWN:
                    yield f"{type(part).__name__}.{name}", value
        for kind in self._classes:
            for name, value in vars(kind).items():
                if not name.startswith("__"):
                    yield f"{kind.__name__}.{name}", value
        for function in self.functions.values():
            yield from _cells(function)
            yield from ((function.__name__, value) for value in (function.__defaults__ or ()))
            yield from ((f"{function.__name__}.{name}", value) for name, value in function.__dict__.items())
        yield from ((name, scope[name]) for scope, name in self._variables.values() if name in scope)

    def _named_by(self, function: FunctionType) -> Iterator[Any]:
        """Yield what the names in a function's code may stand for, and note the variables among them."""
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        for owner, scope in _scopes(function, names):
            for name in names & scope.keys():
                self._variables[(id(owner), name)] = (scope, name)
                yield scope[name]
        for kind in self._classes:
            yield from (vars(kind)[name] for name in names & vars(kind).keys())
        yield from (content for _, content in _cells(function))


def _scopes(function: FunctionType, names: set[str]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield where a function may look up names: its globals, and the modules and classes that it names there."""
    yield function.__globals__, function.__globals__
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if _is_scope(value):
            yield value, vars(value)


def _is_scope(value: Any) -> bool:
    """Report whether a value is a module or a class of the program or of another library."""
    if issubclass(type(value), ModuleType):
        return value.__name__.partition(".")[0] not in _OTHERS
    return issubclass(type(value), type) and _is_program(value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names and contents of a closure's filled cells."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with ignored(ValueError):
            yield name, cell.cell_contents


def _functions_in(value: Any) -> Iterator[FunctionType]:
    """Yield the functions that a value is or wraps."""
    kind = type(value)  # `isinstance` would ask the value for its class
    if kind in (staticmethod, classmethod, MethodType):
        yield from _functions_in(value.__func__)
    elif kind is functools.partial:
        yield from _functions_in(value.func)
    elif kind is property:
        yield from _functions_in(value.fget)
    elif kind is FunctionType:
        yield value
    elif issubclass(kind, type) and _is_program(value) and not issubclass(value, torch.nn.Module):
        for own in vars(value).values():
            if type(own) in (FunctionType, staticmethod, classmethod, property):
                yield from _functions_in(own)


def _is_program(value: Any) -> bool:
    """Report whether a function or class is the program's or another library's, not PyTorch's or Python's."""
    module = value.__module__
    return isinstance(module, str) and module.partition(".")[0] not in _OTHERS | {"builtins"}
