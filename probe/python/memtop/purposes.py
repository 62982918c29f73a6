"""What the memory of a rehearsed program is for, as its own objects say: its modules, optimizers, caches and variables.

A look notes what lies at each address at that moment. The history of PyTorch's allocator has the addresses and
times of all requests, so each note finds the request that made its memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from . import agent
from .shortage import blocks_of, note_of_holding
from .threads import touches

MOST = 64  # looks

Notes = dict[int, dict[str, str]]  # by address


class Purposes:
    """Keeps the notes of all looks. The program's own threads call the methods."""

    def __init__(self) -> None:
        self._looks: list[tuple[int, Notes]] = []  # by time, microseconds since 1970

    @touches
    def look(self, stepped: Any = None) -> None:
        """Note what the live memory is for. This thread may have just stepped an optimizer, whose gradients it may
        read."""
        watch = agent.watching()
        if watch is None or len(self._looks) == MOST:
            return
        if stepped is not None:
            watch.steppers.note(stepped)
        notes = {
            holding.address: _without_viewers(note_of_holding(holding))
            for holding in watch.known(scans=not self._looks)
        }
        self._looks.append((time.time_ns() // 1000, notes))

    def write(self, contents: Mapping[str, Any]) -> None:
        """Add the notes to a snapshot: to the blocks, and to the events that allocated them."""
        made: dict[int, dict[str, Any]] = {}  # by address, the events that made what is alive
        for trace in contents["device_traces"]:
            made.update(self._write_events(trace))
        before = self._looks[0][1] if self._looks else {}
        for block in blocks_of(contents):
            event = made.get(block["address"])
            note = before.get(block["address"], {}) if event is None else event
            block.update({key: note[key] for key in KEYS if key in note})

    def _write_events(self, trace: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
        alive: dict[int, dict[str, Any]] = {}
        left = list(reversed(self._looks))
        for event in trace:
            while left and left[-1][0] < event.get("time_us", 0):
                _note(alive, left.pop()[1])
            if event["action"] == "alloc":
                alive[event["addr"]] = event
            elif event["action"] == "free_completed":
                alive.pop(event["addr"], None)
        while left:
            _note(alive, left.pop()[1])
        return alive


KEYS = ("noted_category", "layer", "role", "shape", "dtype")


def _note(alive: Mapping[int, dict[str, Any]], notes: Notes) -> None:
    """Note what is alive, where no earlier look did."""
    for address, note in notes.items():
        event = alive.get(address)
        if event is not None and "noted_category" not in event:
            event.update(note)


def _without_viewers(note: dict[str, str]) -> dict[str, str]:
    """Return a note with the category under the name that PyTorch's viewer does not look for: it fails on a file in
    which not all events have one."""
    return {"noted_category" if key == "category" else key: text for key, text in note.items()}
