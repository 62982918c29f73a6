"""What a program without a caching allocator holds while nobody watches it, as its own thread last counted it."""

from __future__ import annotations

import time
from typing import Any

from .gathering import held_by, held_in
from .journal import now_us
from .models import Models
from .program import Memory
from .sampling import Sampling
from .threads import touches

SHARE = 0.0005  # of the program's time that counting may take in the mean


class Account:
    """Counts now and then. `memory` is for any thread, the rest for the thread that trains."""

    def __init__(self) -> None:
        self.memory = Memory(0, 0, 0, known_us=0)  # replaced, never changed
        self._purse = Sampling(share=SHARE, credit_ns=1)

    @touches
    def stepped(self, optimizer: Any, duration_ns: int) -> None:
        """Count what an optimizer has that has just made a step, if counting was paid for in so much time."""
        if self._purse.next(duration_ns):
            start = time.perf_counter_ns()
            self._hold(held_by(optimizer))
            self._purse.pay(time.perf_counter_ns() - start)

    @touches
    def called(self, models: Models) -> None:
        """Count what the models of a program have that makes no steps."""
        self._hold(held_in(models))

    def _hold(self, held: int) -> None:
        self.memory = Memory(0, held, held, held, known_us=now_us())
