"""The number of the steps that have ended, and those steps at whose end there is nothing to do.

While nobody watches, the agent looks after a few steps in each second. The others must cost next to
nothing. What such a call costs is mostly what it must fetch into the processor's caches, from which the
program's own work has pushed everything. So `passes` is one small function over one small object.
"""

from __future__ import annotations

import time
from threading import get_ident
from typing import Any

from .leading_optimizer import LeadingOptimizer

_now = time.perf_counter_ns


class StepNumbers:
    """Belongs to the training thread. Any thread may read `ended` and `began`, and may call `wake`."""

    __slots__ = ("began", "ended", "leader", "quiet_until", "thread")

    def __init__(self) -> None:
        self.ended = 0
        self.began = _now()  # when the running step began
        self.thread = 0  # the training thread, 0 before its first step
        self.quiet_until = 0  # until then there is nothing to do when a step ends
        self.leader = LeadingOptimizer()

    def passes(self, optimizer: Any) -> bool:
        """Count the step of an optimizer if there is nothing else to do, and report whether that is so."""
        leader = self.leader
        if leader.optimizer() is not optimizer or get_ident() != self.thread:
            return False
        now = _now()
        self.ended += 1  # before `quiet_until` is read, see `wake`
        if now >= self.quiet_until:
            self.ended -= 1
            return False
        self.began = now
        leader.since = 0
        return True

    def rest(self, until: int) -> None:
        """Do nothing at the end of a step before this time. Look for reasons to `wake` only after this call."""
        self.quiet_until = until

    def wake(self) -> None:
        """Look after the next step that ends. Whoever calls this and then reads `ended` knows that the step after
        those is looked after."""
        self.quiet_until = 0
