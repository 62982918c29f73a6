"""Which thread makes the steps of each optimizer.

The gradients of an optimizer's parameters may be read by that thread alone, outside of a
backward: it is the one that has just read them itself. Any other thread might read one that
a backward replaces meanwhile, for which PyTorch takes no lock.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .threads import is_only_one

MOST = 64  # optimizers, before those that are gone are looked for


class Steppers:
    """Any thread may note its own steps."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}  # by identity: the optimizer, and its thread

    def note(self, optimizer: Any) -> None:
        """Note that this thread has made a step of an optimizer."""
        thread = threading.get_ident()
        known = self._known.get(id(optimizer))
        if known is None or known[1] != thread or known[0]() is not optimizer:
            if len(self._known) >= MOST:
                self._known = {key: its for key, its in list(self._known.items()) if its[0]() is not None}
            self._known[id(optimizer)] = weakref.ref(optimizer), thread

    def is_mine(self, optimizer: Any) -> bool:
        """Report whether this thread made the last step of an optimizer, or none has and there is no other thread."""
        known = self._known.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            return is_only_one()
        return known[1] == threading.get_ident()
