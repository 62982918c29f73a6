"""Which thread steps each optimizer.

Outside a backward pass, only that thread may read the gradients of the optimizer's parameters: it has
just read them itself. Any other thread might read a gradient while a backward pass replaces it,
and PyTorch takes no lock for that.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from ..safety.threads import is_only_one

MOST = 64  # optimizers; with more, those that are gone are removed


class OptimizerThreads:
    """Any thread may note its own steps."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}  # by id: the optimizer, and its thread

    def note(self, optimizer: Any) -> None:
        """Note that this thread has stepped an optimizer."""
        thread = threading.get_ident()
        known = self._known.get(id(optimizer))
        if known is None or known[1] != thread or known[0]() is not optimizer:
            if len(self._known) >= MOST:
                self._known = {key: its for key, its in list(self._known.items()) if its[0]() is not None}
            self._known[id(optimizer)] = weakref.ref(optimizer), thread

    def is_mine(self, optimizer: Any) -> bool:
        """Report whether this thread made the optimizer's last step, or is the only thread while no step was made."""
        known = self._known.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            return is_only_one()
        return known[1] == threading.get_ident()

    def mine(self) -> list[Any]:
        """Return the optimizers whose last step this thread made."""
        this = threading.get_ident()
        return [own for known, thread in list(self._known.values()) if thread == this and (own := known()) is not None]
