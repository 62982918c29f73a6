"""Forward calls of a program that makes no optimizer steps, such as a server: the agent measures at these calls.

While a viewer asks, one hook on all modules waits for the next call of a model, and removes itself
when it comes. Between two questions the agent has no hook in the program.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Callable

import torch

from ..safety.compiled import await_compiling, will_compile
from ..safety.guard import Guard

_CALL = torch.nn.Module._call_impl.__code__


class Calls:
    """Waits for the next call of a model, and passes the model to `called` in the thread that calls it."""

    def __init__(self, guard: Guard, called: Callable[[Any], None]) -> None:
        self._hook = guard(self._before)
        self._called = called
        self._lock = threading.Lock()
        self._handles: list[Any] = []

    def await_one(self) -> None:
        """Wait for the next call of a model. Any thread may ask. In a program that uses `torch.compile` this does
        nothing: a hook would make it compile again."""
        with self._lock:
            if not self._handles and not will_compile():
                hook = torch.nn.modules.module.register_module_forward_pre_hook(self._hook)
                self._handles = [await_compiling(), hook]

    def leave(self) -> bool:
        """Stop waiting. Report whether this was waiting until now."""
        with self._lock:
            return self.abandon()

    def abandon(self) -> bool:
        """Stop waiting, without the lock: in a forked child another thread may have held it at the fork."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()
        return bool(handles)

    def _before(self, module: Any, inputs: Any) -> None:
        """Report the call, if this is the first thread to arrive. Several threads may have begun a call while the hook
        was there, and PyTorch runs the hook in each of them."""
        if torch._C._current_graph_task_id() == -1 and is_outermost(sys._getframe(1)) and self.leave():
            self._called(module)


def is_outermost(frame: FrameType | None) -> bool:
    """Report whether the module called in this frame is not called by another module."""
    calls = 0
    while frame is not None and calls < 2:
        calls += frame.f_code is _CALL
        frame = frame.f_back
    return calls < 2
