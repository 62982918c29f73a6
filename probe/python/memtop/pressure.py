"""Whether memory has changed so much that the last look at it is out of date: it has grown, or is about to run out."""

from __future__ import annotations

GROWTH, LEAST = 1.25, 64 << 20  # since the last look, memory has grown by a quarter and by so many bytes
NEAR, FURTHER = 0.1, 0.9  # shares: of all memory that is left at a first look, and of that what is left at the next
MOST = 24  # looks for either reason
CLOSE = 0.2  # share that is left when it is measured more often


class Pressure:
    """It belongs to the training thread. All sizes are bytes."""

    def __init__(self) -> None:
        self.close = False  # little memory is left
        self._held = 0  # at the last look
        self._left = 0.0  # at the last look because little was left, 0 before the first
        self._grown = self._shrunk = 0  # looks so far, because memory has grown, and because little was left

    def looked(self, held: int) -> None:
        """Note a look, for whatever reason, at a time when the program held so much."""
        self._held = held

    def grows(self, held: int) -> bool:
        """Report whether to look because the program holds so much."""
        if held < max(GROWTH * self._held, self._held + LEAST) or self._grown == MOST:
            return False
        self._grown += 1
        return True

    def runs_out(self, left: int, total: int) -> bool:
        """Report whether to look because so much of the machine's memory is left."""
        self.close = left < CLOSE * total
        if left >= (FURTHER * self._left if self._left else NEAR * total) or self._shrunk == MOST:
            return False
        self._left, self._shrunk = float(left), self._shrunk + 1
        return True
