"""Whose steps are counted: those of one optimizer, where a program has several."""

from __future__ import annotations

import weakref
from typing import Any, Callable


class Leader:
    """The first optimizer that makes a step, while it lives and goes on."""

    def __init__(self) -> None:
        self._is: Callable[[], Any] = _nothing  # returns the optimizer while it is alive
        self._since = 0  # steps of others since its last

    def leads(self, optimizer: Any, chosen: Callable[[Any], None] | None = None) -> bool:
        """Report whether a step of this optimizer counts. `chosen` learns of another one that leads from now on."""
        if self._is() is None or self._since > 8:
            self._is = weakref.ref(optimizer)
            if chosen is not None:
                chosen(optimizer)
        self._since = 0 if self._is() is optimizer else self._since + 1
        return self._since == 0


def _nothing() -> None:
    """Stand for an optimizer that is not there."""
