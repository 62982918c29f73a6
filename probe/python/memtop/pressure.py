"""Whether the memory of the machine, or of the program's control group, is about to run out."""

from __future__ import annotations

NEAR = 0.1  # share of the memory that is left when looking begins
FURTHER = 0.9  # of what was left at the last look, so much is left at the next one
MOST = 24  # looks; at the last one a twelfth of what was left at the first is left
CLOSE = 0.2  # share that is left when it is measured more often


class Pressure:
    """It belongs to the training thread."""

    def __init__(self) -> None:
        self.close = False
        self._least = 0.0  # what was left at the last look, in bytes; 0 before the first
        self._looks = 0

    def rises(self, left: int, total: int) -> bool:
        """Report whether to look at what holds the memory, as so many bytes of it are left."""
        self.close = left < CLOSE * total
        below = left < (FURTHER * self._least if self._least else NEAR * total)
        if not below or self._looks == MOST:
            return False
        self._least, self._looks = float(left), self._looks + 1
        return True
