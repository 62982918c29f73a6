"""Whether a program uses `torch.compile`: it would trace hooks, break its graphs at them, and compile again once they
come or go."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Callable

import torch

from .importing import when_imported
from .threads import touches

_COUNTED = ("frames", "stats")  # PyTorch counts no frames of what it compiles as a whole
_CALLBACKS = "torch._dynamo.callback"

_frames: Any = getattr(torch._C, "_dynamo", None) and torch._C._dynamo.eval_frame
is_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function: where the program's compiled code calls it, PyTorch compiles neither it nor what it
    calls. Versions before 2.6 still compile what it calls."""
    code = function.__code__
    if hasattr(_frames, "set_code_exec_strategy"):
        skip = _frames._FrameAction.SKIP
        _frames.set_code_exec_strategy(code, _frames._FrameExecStrategy(skip, skip))
    elif hasattr(_frames, "skip_code"):
        _frames.skip_code(code)
    return function


class Compiling:
    """Calls `begins` before PyTorch traces anything, in the thread that compiles, so that it finds no hook."""

    def __init__(self, begins: Callable[[], None]) -> None:
        self._begins = begins
        self._awaits = False  # it listens already, or will as soon as PyTorch's compiler is imported

    def await_one(self) -> Any:
        """Wait as long as there are hooks: until `remove` of the result is called."""
        if not self._awaits:
            self._awaits = True
            when_imported(_CALLBACKS, self._listen)
        self._listen()  # again: PyTorch may have dropped it when the program reset the compiler
        return torch.nn.modules.module.register_module_module_registration_hook(self._registered)

    def end(self) -> None:
        """Wait no longer."""
        if self._begin in (callbacks := _callbacks()):
            callbacks.remove(self._begin)

    def _listen(self) -> None:
        if self._begin not in (callbacks := _callbacks()):
            callbacks.append(self._begin)

    def _begin(self, *_: Any) -> None:
        self._begins()

    def _registered(self, module: Any, name: str, part: Any) -> None:
        """Note that a model is wrapped, which when called warns of any hook on all modules."""
        if type(module).__name__ == "OptimizedModule":
            self._begins()


def _callbacks() -> list[Any]:
    """Return what PyTorch calls when it begins to compile. Versions before 2.3 call nothing."""
    handler = getattr(sys.modules.get(_CALLBACKS), "callback_handler", None)
    found: list[Any] = getattr(handler, "start_callbacks", [])
    return found


def will_compile() -> bool:
    """Report whether the program has called `torch.compile`. Any thread may ask."""
    patch: Any = getattr(getattr(sys.modules.get("torch._dynamo.eval_frame"), "TorchPatcher", None), "patch", None)
    return has_compiled() or (patch is not None and patch.cache_info().currsize > 0)


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
        or any(vars(part).get("_compiled_call_impl") is not None for part in model.modules())
        for model in models
    )
