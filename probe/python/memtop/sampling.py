"""How often the agent looks closely, so that looking costs the job no more than it may."""

from __future__ import annotations

SHARE = 0.007  # of the job's time that looking may take in the mean; with the sessions it stays below 1 %
LONGEST = 1_000  # steps from one look to the next
FIRST = 3  # steps in a row that are looked at when a viewer has come


class Sampling:
    """Says which steps are looked at, by what a look costs and how long a step takes, both in nanoseconds."""

    def __init__(self) -> None:
        self.period = 1
        self._left = FIRST
        self._wait = 0
        self._cost = 0.0
        self._step = 0.0

    def begin(self) -> None:
        """A viewer has come: it shall not wait for its first numbers."""
        self._left, self._wait = FIRST, 0

    def next(self, duration_ns: int, cost_ns: int) -> bool:
        """Report whether the step that begins now is looked at. Duration is that of the step before; cost is what a look
        has cost in it, 0 when there was none."""
        self._step = _smooth(self._step, max(1, duration_ns - cost_ns))
        if cost_ns:
            self._cost = _smooth(self._cost, cost_ns)
        self.period = max(1, min(LONGEST, -(-int(self._cost) // max(1, int(self._step * SHARE)))))
        if self._left > 0:
            self._left -= 1
            self._wait = self.period
            return True
        self._wait -= 1
        if self._wait > 0:
            return False
        self._wait = self.period
        return True


def _smooth(old: float, new: float) -> float:
    return new if old == 0 else old + (new - old) / 4
