"""The memory of a program that has no caching allocator, while no viewer watches it.

The program's own thread counts it from time to time; between two counts the last one stands.
"""

from __future__ import annotations

import time
from typing import Any

from ..hooks.models import Models
from ..link.program import Memory
from ..link.queue import now_us
from ..names.categories import held_by, held_in
from ..safety.threads import touches
from ..watch.sampling import Sampling

SHARE = 0.0002  # share of the program's time that counting may take, on average


class Account:
    """Counts from time to time. Any thread may read `memory`; the rest belongs to the training thread."""

    def __init__(self) -> None:
        self.memory = Memory(0, 0, 0, known_us=0)  # replaced, never changed
        self._purse = Sampling(share=SHARE, credit_ns=1)

    @touches
    def stepped(self, optimizer: Any, duration_ns: int) -> None:
        """Count what the optimizer holds, just after its step, if the time since the last step pays for it."""
        if self._purse.next(duration_ns):
            start = time.perf_counter_ns()
            self._hold(held_by(optimizer))
            self._purse.pay(time.perf_counter_ns() - start)

    @touches
    def called(self, models: Models) -> None:
        """Count what the models hold, in a program that makes no optimizer steps."""
        self._hold(held_in(models))

    def _hold(self, held: int) -> None:
        self.memory = Memory(0, held, held, held, known_us=now_us())
