"""The leading optimizer: in a program with several, only its steps are counted."""

from __future__ import annotations

import weakref
from typing import Any, Callable


class Leader:
    """The first optimizer that steps, as long as it is alive and keeps stepping."""

    def __init__(self) -> None:
        self._optimizer: Callable[[], Any] = _no_optimizer  # returns the optimizer while it is alive
        self._since = 0  # steps of other optimizers since its last step

    def leads(self, optimizer: Any, chosen: Callable[[Any], None] | None = None) -> bool:
        """Report whether a step of this optimizer counts. `chosen` is called when another optimizer becomes the
        leader."""
        if self._optimizer() is None or self._since > 8:
            self._optimizer = weakref.ref(optimizer)
            if chosen is not None:
                chosen(optimizer)
        self._since = 0 if self._optimizer() is optimizer else self._since + 1
        return self._since == 0


def _no_optimizer() -> None:
    """Return None: there is no optimizer yet."""
