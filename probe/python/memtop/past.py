"""What new viewers get of the past: some of the values that came, so that they show at once how memory grew."""

from __future__ import annotations

from collections import deque
from typing import Any

RECENT, OLDER = 64, 64  # how many values are kept, of the last ones and of those before


class Past:
    """Keeps the last values, and of those before them ever fewer, from the first one on."""

    def __init__(self) -> None:
        self._recent: deque[Any] = deque()
        self._older: list[Any] = []
        self._every = 1  # of the values that are no longer recent, one in so many is kept
        self._passed = 0  # values since the last one that was kept

    def add(self, value: Any) -> None:
        """Add the newest value."""
        self._recent.append(value)
        if len(self._recent) <= RECENT:
            return
        oldest, self._passed = self._recent.popleft(), self._passed + 1
        if self._older and self._passed < self._every:
            return
        self._older.append(oldest)
        self._passed = 0
        if len(self._older) > OLDER:
            del self._older[1::2]
            self._every *= 2

    def values(self) -> list[Any]:
        """Return the values that are kept, the oldest first."""
        return [*self._older, *self._recent]
