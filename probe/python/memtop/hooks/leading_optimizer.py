"""The leading optimizer: in a program with several, only its steps are counted."""

from __future__ import annotations

import weakref
from typing import Any, Callable


class LeadingOptimizer:
    """The first optimizer that steps, as long as it is alive and keeps stepping."""

    def __init__(self) -> None:
        self.optimizer: Callable[[], Any] = lambda: None  # returns the optimizer while it is alive
        self.since = 0  # steps of other optimizers since its last step

    def leads(self, optimizer: Any, chosen: Callable[[Any], None] | None = None) -> bool:
        """Report whether a step of this optimizer counts. `chosen` is called when another optimizer becomes the
        leader."""
        if self.optimizer() is None or self.since > 8:
            self.optimizer = weakref.ref(optimizer)
            if chosen is not None:
                chosen(optimizer)
        self.since = 0 if self.optimizer() is optimizer else self.since + 1
        return self.since == 0
