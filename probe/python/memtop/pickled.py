"""A snapshot, in PyTorch's format, of a program without a caching allocator. `memtop open` reads it.

It holds what the journal knows: each allocation is a segment of its own, and the last events are the
trace of device 0. PyTorch's format has no place for the parts of notes: these have keys of memtop,
as in the snapshots of programs with a caching allocator.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from .journal import ALLOC, FREE, RETAG, SETTING_CHANGED, STEP_BEGIN, STEP_END, Event, Journal
from .tables import Note, Tables

Dict = dict[str, Any]

# PyTorch's viewer on the web colours an allocation by the category of its alloc event. It fails on a file that has
# categories but not this one.
_UNKNOWN = "unknown"

_ACTIONS = {
    ALLOC: "alloc",
    FREE: "free_completed",
    RETAG: "retag",
    STEP_BEGIN: "step_begin",
    STEP_END: "step_end",
    SETTING_CHANGED: "setting_changed",
}


def of(journal: Journal, settings: Mapping[str, Any]) -> bytes:
    """Return a snapshot of a journal, with the settings of its allocator."""
    with journal.lock:
        state = journal.state()
        events = [entry for entry in journal.since(journal.oldest).entries if isinstance(entry, Event)]
    writer = _Writer(journal.tables)
    snapshot = {
        "segments": [writer.segment(address, state.alive[address]) for address in sorted(state.alive)],
        "device_traces": [writer.trace(events)],
        "allocator_settings": dict(settings),
        "external_annotations": [],
    }
    return pickle.dumps(snapshot, protocol=4)


def frames_of(tables: Tables, stack: int) -> list[Dict]:
    """Return the frames of a stack in PyTorch's form."""
    strings = tables.strings.entries
    lines = [tables.frames.entries[number] for number in tables.stacks.entries[stack]] if stack else []
    return [{"filename": strings[line.file], "line": line.line, "name": strings[line.function]} for line in lines]


class _Writer:
    """Makes the dictionaries. Equal stacks share one list, so the pickle has it once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._stacks: dict[int, list[Dict]] = {}
        self._notes: dict[int, Dict] = {}

    def segment(self, address: int, memory: Event) -> Dict:
        frames = self._frames(memory.stack)
        block = {
            "address": address, "size": memory.size, "requested_size": memory.size, "state": "active_allocated",
            "frames": frames, **self._note(memory.note),
        }  # fmt: skip
        return {
            "device": 0, "address": address, "total_size": memory.size, "allocated_size": memory.size,
            "active_size": memory.size, "requested_size": memory.size, "stream": 0, "segment_type": "large",
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": frames, "blocks": [block],
        }  # fmt: skip

    def trace(self, events: list[Event]) -> list[Dict]:
        """Return events in PyTorch's form. An alloc gets the last category of its memory, because the viewer shows
        that."""
        trace: list[Dict] = []
        allocs: dict[int, Dict] = {}  # by address
        for event in events:
            entry = self._event(event)
            if event.kind == ALLOC:
                allocs[event.address] = entry
            elif event.kind == RETAG and event.address in allocs:
                alloc = allocs[event.address]
                alloc.setdefault("noted_category", alloc["category"] if alloc["category"] != _UNKNOWN else "")
                alloc["category"] = entry["category"]
            elif event.kind == FREE:
                allocs.pop(event.address, None)
                trace.append({**entry, "action": "free_requested"})
            trace.append(entry)
        return trace

    def _event(self, event: Event) -> Dict:
        entry = {
            "action": _ACTIONS[event.kind], "addr": event.address, "size": event.size, "stream": 0,
            "time_us": event.time_us, "frames": self._frames(event.stack), **self._note(event.note),
        }  # fmt: skip
        entry.setdefault("category", _UNKNOWN)
        return entry

    def _frames(self, stack: int) -> list[Dict]:
        frames = self._stacks.get(stack)
        if frames is None:
            frames = self._stacks[stack] = frames_of(self._tables, stack)
        return frames

    def _note(self, number: int) -> Dict:
        note = self._notes.get(number)
        if note is None:
            note = self._notes[number] = note_of(self._tables, number)
        return note


def note_of(tables: Tables, number: int) -> dict[str, str]:
    """Return the texts of a note by their names."""
    strings, entry = tables.strings.entries, tables.notes.entries[number]
    texts = (name for name in Note._fields if name not in ("pool", "forward") and getattr(entry, name))
    return {name: strings[getattr(entry, name)] for name in texts}
