"""How often the agent measures, so that measuring does not cost the job too much time."""

from __future__ import annotations

import time
from typing import Callable

SHARE = 0.0035  # of the time that looks may take on average; with what tells of steps the cost stays near 1 %
CREDIT_NS = 100_000_000  # nanoseconds that may be spent at once, so that a viewer gets first numbers soon

DEBT = 1 / 3  # of what may be spent at once: more than that of what promised looks overspend is not saved up afterwards

COMING = 0.13  # share of the job's time that all looks together take at most, however often viewers come
COMING_NS = 2 * CREDIT_NS  # what of it may be spent at once
OWED_NS = 2_000_000_000  # at most so much is saved up after a look that took longer


class Purse:
    """What all looks together may take, whoever asks for them. Several budgets share it: they are filled from it, and
    when it is empty, what they promised has to wait. Any thread may use it."""

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._at = clock()
        self._left = float(COMING_NS)

    @property
    def left(self) -> float:
        """The nanoseconds that may be spent now, negative after too much was spent."""
        now = self._clock()
        self._left, self._at = min(self._left + (now - self._at) * COMING, float(COMING_NS)), now
        return self._left

    def pay(self, cost_ns: float) -> None:
        """Subtract what looks have cost."""
        self._left = max(self.left - cost_ns, -float(OWED_NS))


class Sampling:
    """A time budget. Time adds to it, looks are paid from it, and when it is empty there is no look."""

    def __init__(self, share: float = SHARE, credit_ns: int = CREDIT_NS, purse: Purse | None = None) -> None:
        self._purse = purse or Purse()
        self.always = False  # look after each step, whatever it costs
        self._share = share
        self._most = credit_ns
        self._credit = float(credit_ns)
        self._promised = 0  # looks that are made although the budget is empty
        self._hurried = False  # and although the purse is
        self._within = 0  # steps over which what may be spent at once, and what is promised, is spread
        self._steps = 0  # since the budget was filled
        self._since = 0  # steps since the last look
        self._cost = 0.0  # of the last look

    def begin(self, looks: int = 0, within: int = 0, hurried: bool = False) -> None:
        """Fill the budget from the purse: a viewer has come, or waits for the effect of a change. When it is empty,
        `looks` more are made as soon as the purse allows; what they overspend is saved up afterwards, up to `DEBT`. All
        looks are spread over the steps `within`, and the first two are made at once: from the second on predictions are
        right. If `hurried`, a viewer waits for the effect of a change, and they do not wait for the purse: each change
        is somebody's own."""
        self._credit = max(self._credit, min(float(self._most), self._purse.left))
        self._promised, self._within, self._hurried = looks, within, hurried
        self._steps, self._since, self._cost = 0, within, 0.0

    def pay(self, cost_ns: float) -> None:
        """Subtract the cost of a look."""
        self._credit -= cost_ns
        self._cost = cost_ns

    @property
    def empty(self) -> bool:
        """Whether more has been spent than there was."""
        return self._credit < 0

    @property
    def hurried(self) -> bool:
        """Whether looks are promised that do not wait for the purse."""
        return self._hurried and self._promised > 0

    def next(self, duration_ns: int) -> bool:
        """Report whether to look, after a step that took `duration_ns`."""
        self._credit = min(self._credit + duration_ns * self._share, float(self._most))
        self._steps += 1
        self._since += 1
        left = max(0, self._within - self._steps)
        paid = self._credit > 0 and self._since * self._credit >= left * self._cost
        allowed = self._purse.left > 0 or self.hurried
        promised = self._promised > 0 and self._since * self._promised >= left and allowed
        if not (self.always or paid or promised):
            return False
        self._promised -= promised and not paid
        if promised and not paid:
            self._credit = max(self._credit, -DEBT * self._most)
        self._since = self._within if self._steps == 1 else 0
        return True
