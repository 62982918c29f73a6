"""When the garbage collector ran in a rehearsed program: what it freed is what reference cycles alone had kept."""

from __future__ import annotations

import gc
import time

MOST = 1_000_000  # collections


class Cycles:
    """Notes the times of collections, in microseconds since 1970."""

    def __init__(self) -> None:
        self.collected: list[tuple[int, int]] = []  # when each began and ended
        self._began = 0

    def begin(self) -> None:
        gc.callbacks.append(self._collects)

    def end(self) -> None:
        """Collect once more."""
        gc.collect()
        if self._collects in gc.callbacks:
            gc.callbacks.remove(self._collects)

    def _collects(self, phase: str, info: dict[str, int]) -> None:
        now = time.time_ns() // 1000
        if phase == "start":
            self._began = now
        elif info["collected"] and len(self.collected) < MOST:
            self.collected.append((self._began, now))
