"""The allocation history of PyTorch's caching allocator: on while a part of the agent needs it.

If the program records the history itself, its settings stay, and the agent only reads. If the program
starts or stops recording while the agent records, the history belongs to the program from then on.
The agent notices this because it replaces the functions of `torch._C` through which all of Python
switches the history. It puts them back when it stops recording.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any, Callable

import torch

from .counters import used
from .peaks import requests

# The most entries for each device, enough for a step of thirty thousand allocations. A snapshot with as many takes some
# hundred milliseconds to make and has some megabytes: a small part of what a frame of the protocol may have.
MOST_ENTRIES = 65_536
_cleared_at = 0  # how much the program had requested when a history of memtop's was last cleared
_FUNCTIONS = ("_cuda_record_memory_history", "_cuda_record_memory_history_legacy")


class History:
    """Turns the history on and off. Safe for concurrent use."""

    def __init__(
        self, entries: int = MOST_ENTRIES, passes: Callable[[], None] | None = None, frees: bool = False
    ) -> None:
        self._entries = entries  # the most entries for each device
        self._passes = passes  # is called each time before the program turns the history on or off
        self._context = "all" if frees else "alloc"  # whether frees have stacks
        self._lock = threading.RLock()
        self._needing: set[str] = set()  # the parts of the agent that need the history now
        self._recording = False
        self._replaced: dict[str, Callable[..., Any]] = {}

    def on(self, part: str, fresh: bool = False) -> None:
        """Record because a part of the agent needs it. If `fresh`, drop the events so far; live memory keeps its
        stacks."""
        with self._lock:
            self._needing.add(part)
            if fresh and self._recording:
                self._restore_functions()
                self._clear()
                self._replace_functions()
            self._record()

    def off(self, part: str) -> None:
        """Stop recording when no part needs it any more, unless the program records."""
        with self._lock:
            self._needing.discard(part)
            if self._recording and not self._needing:
                self._restore_functions()
                self._recording = False
                self._switch(None)

    @property
    def foreign(self) -> bool:
        """Whether the program records, and not the agent."""
        return not self._recording and recording()

    def short(self) -> bool:
        """Report whether a snapshot has no more events than a measured step may have. Of a history that another part of
        memtop or the program keeps it is only known how many events it can have."""
        return not self.foreign or self.requests() < MOST_ENTRIES

    def requests(self) -> int:
        """Return how many requests there were since its events were last dropped."""
        return _requested() - _cleared_at

    def _clear(self) -> None:
        global _cleared_at
        _cleared_at = _requested()
        if "clear_history" not in str(inspect.signature(torch.cuda.memory._record_memory_history)):
            self._switch(None)
        self._switch("all", clear_history=True, **self._arguments())

    def _record(self) -> None:
        """Record, with Python stacks for live memory and allocations. Frees are recorded without stacks unless they are
        asked for: those would take half of the time. If the program records, watch for it to stop, where somebody
        wants to know. The entries must not become fewer while PyTorch records: it would write beyond them."""
        if not self._recording and not recording():
            self._switch("all", **self._arguments())
            self._recording = True
        if not self._replaced and (self._recording or self._passes):
            self._replace_functions()

    def _arguments(self) -> dict[str, Any]:
        return {
            "context": self._context, "stacks": "python", "max_entries": self._entries,
            "record_pinned_host_memory": True,
            "global_record_annotations": True,  # else another thread cannot turn the annotations off again
        }  # fmt: skip

    def _switch(self, enabled: str | None, **arguments: Any) -> None:
        """Call PyTorch's own function with the arguments that this version knows."""
        switch = torch.cuda.memory._record_memory_history
        signature = inspect.signature(switch)
        switch(enabled, **{name: value for name, value in arguments.items() if name in signature.parameters})

    def _replace_functions(self) -> None:
        for name in _FUNCTIONS:
            function = getattr(torch._C, name, None)
            if function is not None:
                self._replaced[name] = function
                setattr(torch._C, name, self._wrap(function))

    def _restore_functions(self) -> None:
        for name, function in self._replaced.items():
            setattr(torch._C, name, function)
        self._replaced.clear()

    def _wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def pass_through(*arguments: Any, **named: Any) -> Any:
            if self._passes is not None:
                self._passes()
            with self._lock:
                self._restore_functions()
                if self._recording:
                    self._switch(None)  # the program's recording should begin empty
                self._recording = False  # the history belongs to the program from here on
            result = function(*arguments, **named)
            if self._passes is not None:
                with self._lock:
                    self._record()
            return result

        return pass_through


def recording() -> bool:
    """Report whether the history is on. If PyTorch cannot say, return True, so that the agent leaves it alone."""
    enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return enabled is None or bool(enabled())


def _requested() -> int:
    return sum(requests(stats) for stats in used().values())
