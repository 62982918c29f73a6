"""The allocator's history while nobody watches: on when the program may run out of memory, so that the report of a
failed request has the line of every allocation.

Recording costs about two microseconds for each allocation, too much for all steps. But a program runs
out of memory when it needs more than ever before: in its first steps, or when its memory grows. So the
history is on from the first use of a device until the peak no longer rises, and again whenever the peak
rises so fast that the device would be full soon. What was allocated meanwhile keeps its stack.

The moments to decide are the ends of steps. In a program that makes none, such as a server, the link's thread
decides.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from ..safety.interrupts import ignored
from ..safety.threads import touches
from .counters import amount, used
from .cuda import present
from .history import History

VARIABLE = "MEMTOP_HISTORY"  # 1: always on, 0: never on while nobody watches
CHECK_NS = 250_000_000  # at least, from one look at the counters to the next
CALM_NS = 1_000_000_000  # the same while the history is off
SETTLED = 4  # looks without danger after which the history is off
REST = 15.0  # seconds from one look to the next in a program that makes no steps
SOON_NS = 600_000_000_000  # there is danger if the device would be full within this time


class UnwatchedHistory:
    """Decides after each step. `stepped` belongs to the training thread, `due` and `tend` to the link's; any thread may
    call the rest."""

    def __init__(self, history: History, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._history = history
        self._clock = clock
        self._mode = os.environ.get(VARIABLE, "")
        self._peaks: dict[int, int] = {}
        self.due_at = 0  # when to look at the counters again
        self._checked = 0  # when they were last looked at
        self._calm = 0  # looks without danger
        self._on = False
        self._made = 0  # allocations that the program had made at the last look
        self._lock = threading.Lock()
        self._rests_at: float | None = None  # when to decide without a step, by the monotonic clock, None for never
        self._steps = False  # the program makes steps, or the agent has left

    def begin(self) -> None:
        """Begin to record: the program initialises its devices."""
        if self._mode != "0":
            self._turn(True)
        if not self._mode:
            self._rests_at = time.monotonic() + REST

    def end(self) -> None:
        """Stop recording."""
        self._steps = True
        with self._lock:
            self._mode = "0"
            self._turn(False)

    def due(self) -> float | None:
        """Return when to call `tend`, None for never."""
        return None if self._steps else self._rests_at

    def tend(self) -> None:
        """Decide."""
        self._rests_at = time.monotonic() + REST
        with ignored(Exception):  # the program may be ending
            self.rest()

    def rest(self) -> None:
        """Decide in a program without steps. A time without allocations, such as while it loads data or compiles, costs
        nothing and says nothing."""
        made = sum(amount(stats, "allocation", "allocated") for stats in used().values())
        if made != self._made:
            self._made = made
            self._decide(self._clock())

    @touches
    def stepped(self, now: int) -> None:
        """Look at the allocator's counters, if it is time, and turn the history on or off."""
        if now < self.due_at:
            return
        if not self._mode and present():
            self._steps = True
            self._decide(now)
        self.due_at = now + (CHECK_NS if self._on else CALM_NS)

    def _decide(self, now: int) -> None:
        with self._lock:
            if self._mode:
                return
            passed, self._checked = now - self._checked, now
            self._calm = 0 if self._in_danger(passed) else self._calm + 1
            self._turn(self._calm < SETTLED)

    def _in_danger(self, passed: int) -> bool:
        """Report whether the peak of a device rises so fast that the device would soon be full."""
        before, self._peaks = self._peaks, {}
        danger = False
        for device, stats in used().items():
            peak = self._peaks[device] = amount(stats, "allocated_bytes", "peak")
            rise = peak - before.get(device, 0)
            danger = danger or (rise > 0 and (_size_of(device) - peak) * passed < rise * SOON_NS)
        return danger

    def _turn(self, on: bool) -> None:
        if on != self._on:
            self._on = on
            (self._history.on if on else self._history.off)("caution")


def _size_of(device: int) -> Any:
    """Return the bytes of a device's memory. PyTorch knows them since it initialised the device."""
    return torch.cuda.get_device_properties(device).total_memory
