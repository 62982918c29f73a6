"""Finding out what tensors are for: parameters, gradients, optimizer state, caches, and other tensors of the
program."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import torch

from ..hooks.graphs import is_leaf
from ..hooks.models import Models, parts_of, trained_by
from ..hooks.optimizer_threads import OptimizerThreads
from ..memory.registry import OTHER, Registry, own_part, storage_of, tensors_in
from ..safety.inspection import fields_of, is_a
from ..safety.interrupts import ignored
from ..safety.threads import touches
from ..safety.tracked_objects import instances, is_alone, types
from .caches import cached, cached_by, is_cache
from .paths import setting_lines
from .sharded import exchanged_by, gathered_in

# What a module or an optimizer raises while another thread is still building it. The next scan finds it complete.
UNFINISHED = (AttributeError, KeyError, RuntimeError)


@touches
class Gathering:
    """Shows the registry the memory that outlives a step. It belongs to the training thread."""

    def __init__(self, models: Models, registry: Registry, steppers: OptimizerThreads) -> None:
        self._models = models
        self._registry = registry
        self._steppers = steppers
        self._shown: dict[int, int] = {}  # by id of an optimizer, the number of its states that were shown
        # What the last scan found, weakly: optimizers, and the caches of functions.
        self.optimizers: list[weakref.ref[Any]] = []
        self.function_caches: list[weakref.ref[Any]] = []

    def model(self) -> None:
        """Show the parameters and buffers of all models."""
        for model in self._models:
            with ignored(*UNFINISHED):
                self._show(model)

    def _show(self, model: Any) -> None:
        for _, module in parts_of(model):
            name = self._models.name(module)
            for category, role, tensor in (*gathered_in(module), *exchanged_by(module)):
                self._registry.see(tensor, category, name or type(module).__name__, role, 0)
            for role, parameter in [*fields_of(module)["_parameters"].items(), *fields_of(module)["_buffers"].items()]:
                if parameter is not None:
                    self._registry.see(parameter, "parameter", name, role, 0)
            for category, role, tensor in cached_by(module):
                self._registry.see(tensor, category, name, role, 0)

    def optimizer(self, optimizer: Any, anew: bool = False, out_of_memory: int | None = None) -> None:
        """Show an optimizer's parameters, their gradients and its state, unless nothing was added. `out_of_memory` is
        the device of a request that has just failed in this thread."""
        states = sum(len(kept) for _, kept in _states(optimizer))
        if not anew and self._shown.get(id(optimizer)) == states:
            return
        self._shown[id(optimizer)] = states
        for parameter in trained_by(optimizer):
            self._parameter(optimizer, parameter, out_of_memory)
        for parameter, kept in _states(optimizer):
            layer, _, role = self._models.parameter(parameter).rpartition(".")
            for key, value in kept:
                for tensor in tensors_in(value):
                    self._registry.see(tensor, "optimizer", layer, f"{role} {key}".strip(), 0)

    def _parameter(self, optimizer: Any, parameter: Any, out_of_memory: int | None) -> None:
        layer, _, role = self._models.parameter(parameter).rpartition(".")
        self._registry.see(parameter, "parameter", layer, role, 0)
        if self._may_read_gradient(optimizer, parameter, out_of_memory) and parameter.grad is not None:
            self._registry.see(parameter.grad, "gradient", *place_of_gradient(parameter.grad, layer, role), 0)

    def _may_read_gradient(self, optimizer: Any, parameter: Any, out_of_memory: int | None) -> bool:
        """Report whether no other thread can replace a parameter's gradient now."""
        if torch._C._current_graph_task_id() == -1:
            return self._steppers.is_mine(optimizer)
        # In a backward pass, the thread of the gradient's device makes it; if that device's request failed, it is this
        # one.
        return out_of_memory is not None and parameter.device == torch.device("cuda", out_of_memory)

    def scan(self, out_of_memory: int | None = None) -> None:
        """Show every tensor of the interpreter, those of caches as such, and name the models.

        It goes through all objects that Python's garbage collector tracks, which takes some milliseconds in a large
        program. It calls none of their code.
        """
        if not is_alone():
            return
        found = _sorted()
        self._add_models(found[_MODULE])
        self.model()
        self.optimizers = list(map(weakref.ref, found[_OPTIMIZER]))
        self.function_caches = list(map(weakref.ref, found[_FUNCTION_CACHE]))
        for optimizer in found[_OPTIMIZER]:
            with ignored(*UNFINISHED):
                self.optimizer(optimizer, True, out_of_memory)
        for cache in found[_CACHE]:
            for category, name, tensor in cached(cache):
                self._registry.see(tensor, category, role=name, stack=0)
        for context in found[_CONTEXT]:
            self._show_context(context)
        for tensor in found[_TENSOR]:
            self._registry.see(tensor, _category_of(tensor), stack=0)

    def _show_context(self, context: Any) -> None:
        """Show what the context of a custom Function keeps in its attributes. One that keeps its own result is in a
        cycle that no collector sees."""
        for name, value in list(fields_of(context).items()):
            if is_a(value, torch.Tensor):
                keeper = f"the context of {type(context).__name__}{_setting_place(type(context), name)}"
                self._registry.see(value, "activation", role=name, stack=0, keeper=keeper)

    def _add_models(self, modules: list[Any]) -> None:
        parts: set[int] = set()
        for module in modules:
            with ignored(*UNFINISHED):
                parts.update(map(id, list(fields_of(module)["_modules"].values())))
        with ignored(*UNFINISHED):
            self._models.add(*(module for module in modules if id(module) not in parts))


@touches
def held_by(optimizer: Any) -> int:
    """Return the bytes of an optimizer's parameters, their gradients and its state. Only the thread that steps it may
    call this, after a step."""
    parameters = trained_by(optimizer)
    state = [t for _, kept in _states(optimizer) for _, value in kept for t in tensors_in(value)]
    gradients = [p.grad for p in parameters if p.grad is not None]
    return bytes_of((*parameters, *gradients, *state))


@touches
def held_in(models: Models) -> int:
    """Return the bytes of the parameters and buffers of all models."""
    parts = [fields_of(part) for model in models for _, part in parts_of(model)]
    return bytes_of(t for part in parts for kind in ("_parameters", "_buffers") for t in tensors_in(part.get(kind)))


@touches
def _states(optimizer: Any) -> Iterator[tuple[Any, list[tuple[Any, Any]]]]:
    """Yield what an optimizer keeps for each parameter: names and values."""
    state: Any = fields_of(optimizer).get("state")
    for parameter, kept in list(dict.items(state)) if is_a(state, dict) else []:
        if is_a(kept, dict):
            yield parameter, list(dict.items(kept))


@touches
def bytes_of(tensors: Iterable[Any]) -> int:
    """Return the bytes of the tensors' storages. Of a tensor that is sharded over ranks, only this rank's part
    counts."""
    storages = {address: storage for storage, address in map(storage_of, tensors) if address}
    return sum(storage.nbytes() for storage in storages.values())


def _setting_place(kind: type, name: str) -> str:
    """Return the file and line where a custom Function's forward sets an attribute of its context, "" if unknown."""
    forward = vars(vars(kind).get("_forward_cls", kind)).get("forward")
    function = forward.__func__ if type(forward) is staticmethod else None
    if type(function) is not FunctionType:
        return ""
    lines = setting_lines(function.__code__, name)
    return f", {function.__code__.co_filename.rpartition('/')[2]}:{lines[0]}" if lines else ""


@touches
def _category_of(tensor: Any) -> str:
    """Return the category of a tensor about which nothing else is known."""
    if is_a(tensor, torch.nn.Parameter) or fields_of(tensor).get("_is_param"):
        return "parameter"
    return OTHER if is_leaf(tensor) else "activation"


@touches
def place_of_gradient(gradient: Any, layer: str, role: str) -> tuple[str, str]:
    """Return the layer and the role of a gradient. One that is part of a larger buffer, as with FSDP2 and with DDP's
    `gradient_as_bucket_view`, shares that buffer with other layers."""
    own = own_part(gradient)
    if own.layout is torch.strided and own.untyped_storage().nbytes() > own.numel() * own.element_size():
        return "", "gradient bucket"
    return layer, role


PLAIN: Any = torch.Tensor.__torch_dispatch__

_NEITHER, _TENSOR, _CACHE, _MODULE, _OPTIMIZER, _CONTEXT, _FUNCTION_CACHE = range(7)


def _sorted() -> dict[int, list[Any]]:
    """Return the objects of each kind."""
    kinds = {kind: what for kind in types() if (what := _kind_of(kind)) != _NEITHER}
    found: dict[int, list[Any]] = {what: [] for what in range(_TENSOR, _FUNCTION_CACHE + 1)}
    for thing in instances(kinds):
        found[kinds[type(thing)]].append(thing)
    return found


def _kind_of(kind: type) -> int:
    if issubclass(kind, torch.Tensor):
        # A wrapper runs its own code. The tensors that it wraps are found anyway.
        plain = getattr(kind, "__torch_dispatch__", None) is PLAIN
        return _TENSOR if plain else _NEITHER
    if issubclass(kind, torch.nn.Module):
        return _MODULE
    if issubclass(kind, torch.optim.Optimizer):
        return _OPTIMIZER
    if issubclass(kind, torch._C._FunctionBase):
        return _CONTEXT
    if kind is functools._lru_cache_wrapper:
        return _FUNCTION_CACHE
    return _CACHE if is_cache(kind) else _NEITHER
