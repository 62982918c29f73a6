"""The one hook that PyTorch calls after an optimizer's step, and who listens to it.

The hook stays for good. PyTorch goes through its hooks while it calls them, so one that
is taken away meanwhile, by itself or by another thread, ends the program's step with an
error as soon as there is another behind it.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

from torch.optim.optimizer import register_optimizer_step_post_hook

from .threads import called_by_pytorch

Listener = Callable[[Any], None]  # is called with the optimizer, in the thread that stepped

_listeners: tuple[Listener, ...] = ()  # replaced and never changed: a thread may be going through it
_hooked = False
_lock = threading.Lock()


def listen(listener: Listener) -> None:
    """Have a listener called after each step from now on."""
    global _listeners, _hooked
    with _lock:
        _listeners = (*_listeners, listener)
        if not _hooked:
            _hooked = True
            register_optimizer_step_post_hook(_stepped)


def ignore(listener: Listener) -> None:
    """Have a listener called no more. It takes no lock that a forked child might find held."""
    global _listeners
    _listeners = tuple(one for one in _listeners if one != listener)


@called_by_pytorch
def _stepped(optimizer: Any, *_: Any) -> None:
    for listener in _listeners:
        listener(optimizer)
