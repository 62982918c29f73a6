"""How often the agent looks closely, so that looking costs the job no more than it may."""

from __future__ import annotations

SHARE = 0.006  # of the job's time that looking may take in the mean; with the sessions it stays below 1 %
CREDIT_NS = 300_000_000  # spent at once, in nanoseconds: nobody shall wait for first numbers


class Sampling:
    """A purse: time refills it, looks are paid from it, and with nothing in it there is no look."""

    def __init__(self, share: float = SHARE, credit_ns: int = CREDIT_NS) -> None:
        self._share = share
        self._most = credit_ns
        self._credit = float(credit_ns)
        self._sure = 0  # looks that are made whatever they cost

    def begin(self, looks: int = 0) -> None:
        """Fill the purse: a viewer has come, or waits for what a change did. So many looks are made in any case; what
        they cost more than there was is saved up afterwards."""
        self._credit = float(self._most)
        self._sure = looks

    def pay(self, cost_ns: float) -> None:
        """Take what a look has cost."""
        self._credit -= cost_ns

    def next(self, duration_ns: int) -> bool:
        """Report whether to look, after a step that took so long."""
        self._credit = min(self._credit + duration_ns * self._share, float(self._most))
        if self._credit <= 0 and self._sure <= 0:
            return False
        self._sure -= 1
        return True
