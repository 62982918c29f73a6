"""Forward calls of a program that makes no steps, such as a server: the moments at which it is looked at.

While a viewer asks, one hook on all modules waits for the next call of a model, and takes
itself away with it. Between two questions there is nothing of the agent in the program.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Callable

import torch

from .compiled import has_compiled
from .guard import Guard

_CALL = getattr(getattr(torch.nn.Module, "_call_impl", None), "__code__", None)


class Calls:
    """Calls `called` with the next model that is called, in the thread that calls it."""

    def __init__(self, guard: Guard, called: Callable[[Any], None]) -> None:
        self._hook = guard(self._before)
        self._called = called
        self._lock = threading.Lock()
        self._handle: Any = None

    def await_one(self) -> None:
        """Wait for a call, from now on. Any thread may ask. In a program that compiles a hook would have it compile
        again, so there is none."""
        with self._lock:
            if self._handle is None and not has_compiled():
                self._handle = torch.nn.modules.module.register_module_forward_pre_hook(self._hook)

    def leave(self) -> bool:
        """Wait no more. Report whether a call was waited for until now."""
        with self._lock:
            return self.abandon()

    def abandon(self) -> bool:
        """Wait no more, in a forked child, where another thread may have held the lock."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()
        return handle is not None

    def _before(self, module: Any, inputs: Any) -> None:
        """Look, in one thread of those that have begun a call at the same time: PyTorch calls the hooks that there
        were when a call began."""
        if torch._C._current_graph_task_id() == -1 and _is_outermost(sys._getframe(1)) and self.leave():
            self._called(module)


def _is_outermost(frame: FrameType | None) -> bool:
    """Report whether no module calls the one that is called in this frame."""
    calls = 0
    while frame is not None and calls < 2:
        calls += frame.f_code is _CALL
        frame = frame.f_back
    return calls < 2
