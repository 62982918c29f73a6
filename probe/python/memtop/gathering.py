"""What is for what: parameters, gradients, optimizer state, caches, and what a program's own names hold."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from .caches import cached, is_cache
from .models import Models
from .registry import OTHER, Registry, tensors_in

DEEPEST = 6  # from a name to a tensor


UNDISTURBED = 1_000.0  # seconds, longer than any scan takes

# What a module or an optimizer raises that another thread is just making. The next scan finds it whole.
UNFINISHED = (AttributeError, RuntimeError)


class Gathering:
    """Shows the registry the memory that outlives a step. It belongs to the thread that trains."""

    def __init__(self, models: Models, registry: Registry) -> None:
        self._models = models
        self._registry = registry
        self._shown: dict[int, int] = {}  # by identity of an optimizer, how much state was shown

    def model(self) -> None:
        """Show parameters and buffers of all models."""
        for model in self._models:
            with contextlib.suppress(*UNFINISHED):
                self._show(model)

    def _show(self, model: Any) -> None:
        for module in model.modules():
            name = self._models.name(module)
            for role, parameter in list(module._parameters.items()) + list(module._buffers.items()):
                if parameter is not None:
                    self._registry.see(parameter, "parameter", name, role, 0)

    def optimizer(self, optimizer: Any, anew: bool = False) -> None:
        """Show the parameters of an optimizer, their gradients and its state, unless it is as it was."""
        states = sum(len(kept) for kept in list(optimizer.state.values()) if isinstance(kept, dict))
        if not anew and self._shown.get(id(optimizer)) == states:
            return
        self._shown[id(optimizer)] = states
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                layer, _, role = self._models.parameter(parameter).rpartition(".")
                self._registry.see(parameter, "parameter", layer, role, 0)
                if parameter.grad is not None:
                    self._registry.see(parameter.grad, "gradient", layer, role, 0)
        for parameter, kept in list(optimizer.state.items()):
            path = self._models.parameter(parameter) if isinstance(parameter, torch.Tensor) else ""
            layer, _, role = path.rpartition(".")
            for key, value in list(kept.items()) if isinstance(kept, dict) else []:
                for tensor in tensors_in(value):
                    self._registry.see(tensor, "optimizer", layer, f"{role} {key}".strip(), 0)

    def scan(self) -> list[Any]:
        """Show every tensor of the interpreter, those of caches as such, and name the models. Return the optimizers.

        It goes through all objects that Python's garbage collector knows, which takes some milliseconds for a large
        program, and calls nothing of theirs. Only the thread that trains may call it, between its steps.
        """
        with undisturbed():
            found = _sorted()
        self._add_models(found[_MODULE])
        self.model()
        for optimizer in found[_OPTIMIZER]:
            with contextlib.suppress(*UNFINISHED):
                self.optimizer(optimizer, anew=True)
        for cache in found[_CACHE]:
            for category, name, tensor in cached(cache):
                self._registry.see(tensor, category, role=name, stack=0)
        for tensor in found[_TENSOR]:
            self._registry.see(tensor, _category_of(tensor), stack=0)
        return found[_OPTIMIZER]

    def _add_models(self, modules: list[Any]) -> None:
        parts: set[int] = set()
        for module in modules:
            with contextlib.suppress(*UNFINISHED):
                parts.update(id(part) for part in list(module._modules.values()))
        for module in modules:
            if id(module) not in parts:
                with contextlib.suppress(*UNFINISHED):
                    self._models.add(module)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let no other thread run meanwhile.

    The collector also knows tuples that are still being filled. Filling one fails, in whatever thread that is, when
    another reference to it is there, so all references must be gone before that thread goes on. A thread asks for its
    turn when it has waited for the switch interval: those that wait by the old one have asked after the sleep.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(UNDISTURBED)
    try:
        time.sleep(interval * 1.2)
        yield
    finally:
        sys.setswitchinterval(interval)


def _sorted() -> dict[int, list[Any]]:
    """Return what the garbage collector knows of each kind, and refer to nothing else any more."""
    found: dict[int, list[Any]] = {_TENSOR: [], _CACHE: [], _MODULE: [], _OPTIMIZER: []}
    kinds: dict[type, int] = {}
    for thing in gc.get_objects():
        kind = type(thing)
        what = kinds.get(kind)
        if what is None:
            what = kinds[kind] = _kind_of(kind)
        if what != _NEITHER:
            found[what].append(thing)
    return found


def bytes_of(optimizer: Any) -> int:
    """Return the bytes of an optimizer's parameters, their gradients and its state."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state = [t for kept in list(optimizer.state.values()) for t in tensors_in(kept)]
    gradients = [p.grad for p in parameters if p.grad is not None]
    return sum({t.data_ptr(): t.numel() * t.element_size() for t in (*parameters, *gradients, *state)}.values())


def _category_of(tensor: Any) -> str:
    """Return what a tensor is for of which nothing else is known."""
    if isinstance(tensor, torch.nn.Parameter):
        return "parameter"
    return "activation" if tensor.grad_fn is not None else OTHER


PLAIN: Any = torch.Tensor.__torch_dispatch__

_NEITHER, _TENSOR, _CACHE, _MODULE, _OPTIMIZER = range(5)


def _kind_of(kind: type) -> int:
    if issubclass(kind, torch.Tensor):
        # Wrappers hold tensors, which are found by themselves, and answer by code of their own.
        plain = getattr(kind, "__torch_dispatch__", None) is PLAIN
        return _TENSOR if plain else _NEITHER
    if issubclass(kind, torch.nn.Module):
        return _MODULE
    if issubclass(kind, torch.optim.Optimizer):
        return _OPTIMIZER
    return _CACHE if is_cache(kind) else _NEITHER
