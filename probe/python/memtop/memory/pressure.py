"""Whether memory has changed so much that the last look at it is out of date: it has grown, or is about to run out."""

from __future__ import annotations

GROWTH, LEAST = 1.25, 64 << 20  # since the last look, memory has grown by a quarter and by so many bytes
SHARE = 0.02  # of the time since the last look, so much a look may cost that is made because memory has grown
CLOSE, NEAR = 0.2, 0.1  # shares of all memory: with less left, it is measured more often, and looked at
SOON_NS = 5_000_000_000  # memory that would run out within this time is as good as near its end
FURTHER = 0.9  # of what was left at a look, so much is left at the next
MOST = 24  # looks for either reason


class Pressure:
    """It belongs to the training thread. All sizes are bytes."""

    def __init__(self) -> None:
        self.close = False  # little memory is left
        self._looked_at = 0  # when memory was last looked at, for whatever reason
        self._held = 0  # bytes of the program then
        self._cost = 0  # of that look, in nanoseconds
        self._grown = self._short = 0  # looks so far, because memory has grown, and because little was left
        self._before: tuple[int, int] | None = None  # when what is left was last measured, and how much it was
        self._least = 0.0  # what was left at the last look because little was left, 0 before the first

    def looked(self, now: int, held: int, cost: int) -> None:
        """Note a look, for whatever reason, at a time when the program held so much."""
        self._looked_at, self._held, self._cost = now, held, cost

    def grows(self, now: int, held: int) -> bool:
        """Report whether to look because the program holds so much."""
        if not self._held:  # it was not known at the last look
            self._held = held
            return False
        if held < max(GROWTH * self._held, self._held + LEAST) or self._grown == MOST:
            return False
        if self._cost > SHARE * (now - self._looked_at):
            return False
        self._grown += 1
        return True

    def runs_out(self, now: int, left: int, total: int) -> bool:
        """Report whether to look because so much of the machine's memory is left, or because what is left shrinks so
        fast."""
        soon = self._is_soon(now, left)
        self.close = soon or left < CLOSE * total
        near = soon or left < NEAR * total
        if not near or (self._least and left >= FURTHER * self._least) or self._short == MOST:
            return False
        self._least, self._short = float(left), self._short + 1
        return True

    def _is_soon(self, now: int, left: int) -> bool:
        before, self._before = self._before, (now, left)
        if before is None or left >= before[1]:
            return False
        return left * (now - before[0]) < (before[1] - left) * SOON_NS
