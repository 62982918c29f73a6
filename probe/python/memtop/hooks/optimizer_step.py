"""The one hook that PyTorch calls after an optimizer's step, and its listeners.

The hook is never removed. PyTorch iterates over its hooks while it calls them. If one is removed
meanwhile, by itself or by another thread, and another hook follows it, the program's step fails with an
error.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

from torch.optim.optimizer import register_optimizer_step_post_hook

from ..safety.compiled import is_compiling, untraced

Listener = Callable[[Any], None]  # is called with the optimizer, in the thread that stepped it

_listeners: tuple[Listener, ...] = ()  # replaced, never modified: a thread may be iterating over it
_hooked = False
_lock = threading.Lock()


def listen(listener: Listener) -> None:
    """Call a listener after each step from now on."""
    global _listeners, _hooked
    with _lock:
        _listeners = (*_listeners, listener)
        if not _hooked:
            _hooked = True
            register_optimizer_step_post_hook(_stepped)


def ignore(listener: Listener) -> None:
    """Stop calling a listener. This takes no lock: a forked child might find it held."""
    global _listeners
    _listeners = tuple(one for one in _listeners if one != listener)


@untraced
def _stepped(optimizer: Any, *_: Any) -> None:
    if is_compiling():  # nothing but this is traced, if the program compiles its steps
        return
    for listener in _listeners:
        listener(optimizer)
