"""Whether a program uses `torch.compile`: it would trace hooks, break its graphs at them, and compile again once they
come or go."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Callable

import torch

from ..hooks.models import parts_of
from ..start.importing import when_imported
from .inspection import fields_of
from .threads import touches
from .tracked_objects import instances, types

_COUNTED = ("frames", "stats")  # PyTorch counts no frames of what it compiles as a whole
_CALLBACKS = "torch._dynamo.callback"
_awaited: list[str] = []  # that module, once its import is awaited
leaving: list[Callable[[], None]] = []  # functions that remove the hooks

_frames: Any = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
is_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function: where the program's compiled code calls it, PyTorch compiles neither it nor what it
    calls."""
    code = function.__code__
    if hasattr(_frames, "set_code_exec_strategy"):
        skip = _frames._FrameAction.SKIP
        _frames.set_code_exec_strategy(code, _frames._FrameExecStrategy(skip, skip))
    elif hasattr(_frames, "skip_code"):
        _frames.skip_code(code)
    return function


def await_compiling() -> Any:
    """Call those in `leaving` before the program compiles in any thread, so that PyTorch finds no hook, and when it
    wraps a model, which warns of hooks when it is called. Return the handle of the latter."""
    if not _awaited:
        _awaited.append(_CALLBACKS)
        when_imported(_CALLBACKS, _listen)
    _listen()  # again: PyTorch drops it when the program resets the compiler
    return torch.nn.modules.module.register_module_module_registration_hook(_registered)


def _listen() -> None:
    handler = getattr(sys.modules.get(_CALLBACKS), "callback_handler", None)
    callbacks = getattr(handler, "start_callbacks", [])  # none while another thread imports it
    if _begins not in callbacks:
        callbacks.append(_begins)


def _begins(*_: Any) -> None:
    for leave in leaving:
        leave()


def _registered(module: Any, name: str, part: Any) -> None:
    if type(module).__name__ == "OptimizedModule":
        _begins()


def will_compile() -> bool:
    """Report whether `torch.compile` has compiled anything, or has wrapped a model. Any thread may ask."""
    patch: Any = getattr(getattr(sys.modules.get("torch._dynamo.eval_frame"), "TorchPatcher", None), "patch", None)
    called = patch is not None and patch.cache_info().currsize > 0
    return has_compiled() or (called and bool(instances(k for k in types() if k.__name__ == "OptimizedModule")))


def has_compiled() -> bool:
    """Report whether `torch.compile` has compiled anything so far. Any thread may ask."""
    utilities = sys.modules.get("torch._dynamo.utils")
    counters = getattr(utilities, "counters", None)  # None while another thread is importing it
    return counters is not None and any(counters.get(kind) for kind in _COUNTED)


@touches
def compiles(models: Iterable[Any]) -> bool:
    """Report whether `torch.compile` has compiled anything so far, or will compile one of these models."""
    return has_compiled() or any(
        type(model).__name__ == "OptimizedModule"
        or any(fields_of(part).get("_compiled_call_impl") is not None for _, part in parts_of(model))
        for model in models
    )
