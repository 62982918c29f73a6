"""The history of PyTorch's caching allocator: on while it is wanted, unless the program records it itself.

Where the program records, its settings hold, and its history is only read. Where it
begins or ends to while the agent records, the history is the program's from then on.
That is seen at the one door that all of Python goes through, which is as it was once
the agent records no longer.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any, Callable

import torch

# Entries for each device. A snapshot with as many takes the program some hundred milliseconds to make, has some
# megabytes, and is a small part of what a frame of the protocol may have.
MOST_ENTRIES = 16_384
_DOORS = ("_cuda_record_memory_history", "_cuda_record_memory_history_legacy")


class History:
    """Switches the history. Safe for concurrent use."""

    def __init__(self, entries: int = MOST_ENTRIES, passes: Callable[[], None] | None = None) -> None:
        self._entries = entries  # kept for each device
        self._passes = passes  # is called before the program switches the history, each time
        self._lock = threading.RLock()
        self._ours = False
        self._doors: dict[str, Callable[..., Any]] = {}

    def on(self) -> None:
        """Record, with the Python stacks of what is alive and was allocated. What frees memory is not asked for its
        stack, which is what half of the time would go to."""
        with self._lock:
            if not self._ours and not recording():
                self._switch("all", context="alloc", stacks="python", max_entries=self._entries)
                self._ours = True
                self._watch_doors()

    def off(self) -> None:
        """Record no longer, unless the program does."""
        with self._lock:
            if self._ours:
                self._leave_doors()
                self._ours = False
                self._switch(None)

    def _go_on(self) -> None:
        """Record again if the program does not, and else see when it ends to."""
        self.on()
        with self._lock:
            if not self._doors:
                self._watch_doors()

    def _switch(self, enabled: str | None, **arguments: Any) -> None:
        """Call PyTorch's own switch with the arguments that this version knows."""
        switch = torch.cuda.memory._record_memory_history
        signature = inspect.signature(switch)
        switch(enabled, **{name: value for name, value in arguments.items() if name in signature.parameters})

    def _watch_doors(self) -> None:
        for name in _DOORS:
            door = getattr(torch._C, name, None)
            if door is not None:
                self._doors[name] = door
                setattr(torch._C, name, self._passed(door))

    def _leave_doors(self) -> None:
        for name, door in self._doors.items():
            setattr(torch._C, name, door)
        self._doors.clear()

    def _passed(self, door: Callable[..., Any]) -> Callable[..., Any]:
        def pass_through(*arguments: Any, **named: Any) -> Any:
            if self._passes is not None:
                self._passes()
            with self._lock:
                self._leave_doors()
                if self._ours:
                    self._switch(None)  # what the program records is to begin here, as if nobody else had recorded
                self._ours = False  # from here on it is the program's
            result = door(*arguments, **named)
            if self._passes is not None:
                self._go_on()
            return result

        return pass_through


def recording() -> bool:
    """Report whether the history is on. Where PyTorch does not say, it is taken to be, and left alone."""
    enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return enabled is None or bool(enabled())
