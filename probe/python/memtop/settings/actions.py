"""The setting `action`: something done once, at the end of a step. The value then returns to none by itself."""

from __future__ import annotations

import gc

import torch

from ..link.program import Refused
from .setting import NONE

GARBAGE, CACHE, PEAK = "collect-garbage", "empty-cache", "reset-peak"


class Actions:
    """See `setting.Setting`. The value is set during the step in which the action was done."""

    key = "action"
    once = True
    names = ""
    about = "do something once, when the step has ended; it cannot be undone"

    def __init__(self) -> None:
        self.value = NONE

    @property
    def choices(self) -> tuple[str, ...]:
        """The actions. A program that does not use CUDA has no cache to empty and no peak to reset."""
        return (GARBAGE, CACHE, PEAK) if torch.cuda.is_initialized() else (GARBAGE,)

    def ran(self) -> bool:
        """Report that an action is always done."""
        return True

    def check(self, value: str) -> None:
        """Raise `Refused` where a value cannot be used."""
        if value not in self.choices:
            raise Refused("the program uses no device with a caching allocator")

    def switch(self, value: str) -> None:
        """Do the action."""
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
        """Return to none."""
        self.value = NONE
