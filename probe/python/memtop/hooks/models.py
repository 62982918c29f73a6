"""The models of a program: its modules and their names.

A model is a module that no other module calls. Its name is "", and the name of a module in it is
its path, as in `named_modules`. If there are several models, the one that is trained, or else the
largest, is named so. The names in the others begin with the model's class.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

from ..safety.inspection import fields_of
from ..safety.threads import touches

WRAPPERS = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "OptimizedModule")


class Models:
    """Names modules. It has only weak references to models. Safe for concurrent use."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._models: dict[int, weakref.ref[Any]] = {}
        self._names: dict[int, str] = {}
        self._part_of: dict[int, Any] = {}  # by id, a weak reference to the module
        self._parameters: dict[int, str] = {}  # by id, the name
        self._trained: frozenset[int] = frozenset()  # ids of parameters

    @touches
    def lead(self, optimizer: Any) -> None:
        """Make the model that this optimizer trains the first one, which is named without its class."""
        with self._lock:
            self._trained = frozenset(map(id, trained_by(optimizer)))
            self._name_all()

    @touches
    def add(self, *modules: Any) -> bool:
        """Add modules that are part of no other module. Return False if all are known already."""
        with self._lock:
            new = [module for module in modules if not self._knows(module)]
            for module in new:
                for _, part in parts_of(module):
                    self._models.pop(id(part), None)
                self._models[id(module)] = weakref.ref(module)
            if new:
                self._name_all()
            return bool(new)

    def _knows(self, module: Any) -> bool:
        known = self._models.get(id(module), lambda: None)
        return known() is module or self._part_of.get(id(module), lambda: None)() is module

    @touches
    def _rank(self, model: Any) -> tuple[bool, int]:
        parameters = [p for _, p in parameters_of(model)]
        return any(id(p) in self._trained for p in parameters), sum(p.numel() * p.element_size() for p in parameters)

    @touches
    def _name_all(self) -> None:
        self._names.clear()
        self._parameters.clear()
        self._part_of.clear()
        for place, model in enumerate(sorted(self, key=self._rank, reverse=True)):
            front = "" if place == 0 else type(model).__name__
            for path, module in parts_of(model):
                self._names.setdefault(id(module), join(front, bare(model, path)))
                self._part_of[id(module)] = weakref.ref(module)
            for path, parameter in parameters_of(model):
                self._parameters.setdefault(id(parameter), join(front, bare(model, path)))

    def name(self, module: Any) -> str:
        """Return a module's name, or its class if it is part of no model."""
        return self._names.get(id(module), type(module).__name__)

    def parameter(self, parameter: Any) -> str:
        """Return a parameter's name, "" if it is part of no model."""
        return self._parameters.get(id(parameter), "")

    def __iter__(self) -> Iterator[Any]:
        """Yield the models that are alive."""
        for reference in list(self._models.values()):
            model = reference()
            if model is not None:
                yield model


@touches
def parts_of(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield a module and all modules in it, with their paths, each once. Classes may have methods of their own for
    this, which are the program's code."""
    seen: set[int] = set()
    todo = [("", model)]
    while todo:
        path, module = todo.pop()
        if module is not None and id(module) not in seen:
            seen.add(id(module))
            yield path, module
            inner = list(fields_of(module).get("_modules", {}).items())
            todo += [(f"{path}.{name}" if path else name, part) for name, part in reversed(inner)]


@touches
def parameters_of(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a module and of all modules in it, with their paths, each once."""
    seen: set[int] = set()
    for path, module in parts_of(model):
        for name, parameter in list(fields_of(module).get("_parameters", {}).items()):
            if parameter is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                yield (f"{path}.{name}" if path else name), parameter


@touches
def trained_by(optimizer: Any) -> list[Any]:
    """Return the parameters of an optimizer."""
    return [p for group in fields_of(optimizer).get("param_groups", ()) for p in group["params"]]


def bare(model: Any, path: str) -> str:
    """Return a path without the prefix that a wrapper adds."""
    if type(model).__name__ in WRAPPERS:
        for front in ("module", "_orig_mod"):
            if path == front or path.startswith(front + "."):
                return path[len(front) + 1 :]
    return path


def join(front: str, path: str) -> str:
    """Return a path below a prefix."""
    return f"{front}.{path}" if front and path else front or path
