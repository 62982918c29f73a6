"""The setting `action`: what is done once, at the end of a step. It goes back by itself."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch

from ..program import Json, Refused
from .setting import NONE, unknown

GARBAGE, CACHE, PEAK = "collect-garbage", "empty-cache", "reset-peak"


class Actions:
    """See `setting.Setting`. The value in use is that of the step in which it was done."""

    key = "action"
    once = True
    about = "do something once, when the step has ended; it cannot be undone"

    def __init__(self) -> None:
        self.value = NONE

    @property
    def choices(self) -> tuple[str, ...]:
        """What can be done: of a program that uses no CUDA there is neither cache nor peak."""
        return (GARBAGE, CACHE, PEAK) if torch.cuda.is_initialized() else (GARBAGE,)

    def check(self, value: str) -> None:
        """Raise `Refused` where a value cannot be used."""
        if value not in self.choices:
            raise Refused("the program uses no device with a caching allocator")

    def foresee(self, value: str) -> Callable[[], Json | None]:
        """Foresee nothing: what is garbage is known when it is collected."""
        return unknown

    def switch(self, value: str) -> None:
        """Do it."""
        self.check(value)
        if value == GARBAGE:
            gc.collect()
        elif value == CACHE:
            torch.cuda.empty_cache()
        else:
            for device in range(torch.cuda.device_count()):
                torch.cuda.reset_peak_memory_stats(device)
        self.value = value

    def restore(self) -> None:
        """Be done with it."""
        self.value = NONE
