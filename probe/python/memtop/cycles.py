"""What only the garbage collector freed: memory that reference cycles kept until it ran."""

from __future__ import annotations

import gc

import torch

FREQUENT = 10_000  # a youngest generation that is collected more often than this is not looked at: nothing in it is old


class Cycles:
    """Notes the most bytes of each device that one collection freed."""

    def __init__(self) -> None:
        self._most: list[int] = []
        self._before: list[int] = []

    def begin(self) -> None:
        gc.callbacks.append(self._collects)

    def most(self) -> list[int]:
        """Collect once more, and return the bytes by device."""
        gc.collect()
        gc.callbacks.remove(self._collects)
        return self._most

    def _collects(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 0 and gc.get_threshold()[0] < FREQUENT:
            return
        now = [torch.cuda.memory_allocated(device) for device in range(torch.cuda.device_count())]
        if phase == "start":
            self._before = now
        elif len(self._before) == len(now):
            most = self._most or [0] * len(now)
            self._most = [max(noted, was - still) for noted, was, still in zip(most, self._before, now)]
