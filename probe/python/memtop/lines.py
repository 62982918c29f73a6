"""The stream of docs/protocol.md as lines of JSON, for programs without a decoder of frames."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import journal
from .encoding import json_text
from .journal import Event, Tags
from .tables import FRAME_TABLE, NOTE_TABLE, STACK_TABLE, STRING_TABLE, Frame, New, Note, Tables

CONTENT_TYPE = "application/x-ndjson"

_AT_ONCE = 1024  # the most entries of one line
_PART = 3 << 18  # bytes of one part of a snapshot

_MESSAGES = {
    journal.HELLO: "hello",
    journal.SETTINGS: "settings",
    journal.STEP: "step",
    journal.OPTIONS: "options",
    journal.CHANGE: "change",
    journal.GAUGES: "gauges",
    journal.COUNTERS: "counters",
    journal.BYE: "bye",
}
_TABLES = {STRING_TABLE: "strings", FRAME_TABLE: "frames", STACK_TABLE: "stacks", NOTE_TABLE: "notes"}

KINDS = (
    "other", "alloc", "free_requested", "free_completed", "free", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", "snapshot", "annotate", "retag", "step_begin", "step_end", "setting_changed", "lost",
)  # fmt: skip


class Lines:
    """Makes the lines of one stream, as `wire.Frames` makes its frames."""

    content_type = CONTENT_TYPE
    encoding = "lines"

    def __init__(self) -> None:
        self._new = New()

    def header(self) -> bytes:
        """Return nothing: there is no header."""
        return b""

    def message(self, type: int, data: Any) -> bytes:
        """Return a message."""
        return _line(_MESSAGES[type], data)

    def tables(self, tables: Tables) -> Iterator[bytes]:
        """Return the new entries of the tables."""
        for type, first, entries in self._new.of(tables):
            for at in range(0, len(entries), _AT_ONCE):
                some = [_entry(entry) for entry in entries[at : at + _AT_ONCE]]
                yield _line(_TABLES[type], {"first": first + at, "entries": some})

    def base(self, device: int, first: int, alive: Mapping[int, Event], missed: int, reason: str) -> Iterator[bytes]:
        """Return the memory of a device."""
        data: dict[str, Any] = {"device": device, "first": first, "missed": missed}
        if reason:
            data["reason"] = reason
        data["segments"] = [_segment(address, alive[address]) for address in sorted(alive)]
        yield _line("base", data)

    def events(self, device: int, first: int, events: Sequence[Event]) -> Iterator[bytes]:
        """Return events. `first` is the number of the first one in the program's own count."""
        for at in range(0, len(events), _AT_ONCE):
            some = [_event(event) for event in events[at : at + _AT_ONCE]]
            yield _line("events", {"device": device, "first": first + at, "events": some})

    def snapshot(self, pickled: bytes) -> Iterator[bytes]:
        """Return a snapshot of PyTorch in parts."""
        parts = [pickled[at : at + _PART] for at in range(0, len(pickled), _PART)]
        for left, part in zip(range(len(parts) - 1, -1, -1), parts):
            yield _line("snapshot", {"parts_left": left, "pickle": base64.b64encode(part).decode()})

    def tags(self, tags: Tags) -> bytes:
        """Return the notes of a device's memory."""
        notes = [{"addr": hex(address), "note": note} for address, note in tags.notes]
        return _line("tags", {"device": tags.device, "tags": notes})


def _line(type: str, data: Any) -> bytes:
    return json_text({"type": type, "data": data}).encode() + b"\n"


def _entry(entry: Any) -> Any:
    if isinstance(entry, Frame):
        return {"file": entry.file, "name": entry.function, "line": entry.line}
    if isinstance(entry, Note):
        return {key: value for key, value in entry._asdict().items() if value}
    return entry


def _event(event: Event) -> dict[str, Any]:
    line = {"kind": KINDS[event.kind], "addr": hex(event.address), "size": event.size, "time_us": event.time_us}
    return line | {key: value for key, value in (("stack", event.stack), ("note", event.note)) if value}


def _segment(address: int, memory: Event) -> dict[str, Any]:
    block: dict[str, Any] = {
        "addr": hex(address), "size": memory.size, "requested": memory.size, "state": "active_allocated",
        "stack": memory.stack, "note": memory.note,
    }  # fmt: skip
    return {"addr": hex(address), "size": memory.size, "stream": 0, "blocks": [block]}
