"""The stream of docs/protocol.md as bytes: its header and its frames.

A `Frames` belongs to one session. Its methods return whole frames, in pieces small enough to let other
connections take their turn in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .checksum import CHECKSUMS
from .encoding import json_text, signed, text, unsigned
from .events import encode_events
from .journal import STEP, Event, Tags
from .tables import FRAME_TABLE, NOTE_TABLE, STACK_TABLE, STRING_TABLE, Frame, New, Tables

VERSION = 1
MINOR = 1
MAGIC = b"\x8fmtr\r\n"
FRAME_LIMIT = 16 << 20  # bytes of a frame's payload
_JSON_LIMIT = 4 << 20
_TABLE_FRAME = 32 << 10  # bytes after which the table continues in another frame
_EVENTS_IN_FRAME = 1024
_PART = 1 << 20  # bytes of one part of a snapshot

BASE, EVENTS, SNAPSHOT, TAGS = 8, 9, 18, 19


class Frames:
    """Makes the frames of one stream, and keeps track of the table entries that it has sent."""

    content_type = "application/vnd.memtop.stream"

    def __init__(self, checksum: str = "crc32c") -> None:
        self.encoding = checksum  # streams with the same encoding have the same frames
        self._checksum = CHECKSUMS[checksum]
        self._new = New()

    def header(self) -> bytes:
        """Return the header of a stream."""
        return MAGIC + bytes((VERSION, MINOR | self._checksum.header))

    def message(self, type: int, data: Any) -> bytes:
        """Return a message. A step that is too long for one is sent without its layers."""
        payload = json_text(data).encode()
        if len(payload) > _JSON_LIMIT and type == STEP:
            payload = json_text({key: value for key, value in data.items() if key != "layers"}).encode()
        return self._frame(type, payload)

    def tables(self, tables: Tables) -> Iterator[bytes]:
        """Return the new entries of the tables. An entry refers only to earlier ones."""
        for type, _, entries in self._new.of(tables):
            encode = _ENTRIES[type]
            parts, size = [], 0
            for entry in entries:
                part = encode(entry)
                parts.append(part)
                size += len(part)
                if size >= _TABLE_FRAME:
                    yield self._frame(type, b"".join(parts))
                    parts, size = [], 0
            if parts:
                yield self._frame(type, b"".join(parts))

    def base(self, device: int, first: int, alive: Mapping[int, Event], missed: int, reason: str) -> Iterator[bytes]:
        """Return the memory of a device without a caching allocator: each allocation is a segment of its own."""
        parts = [signed(device), signed(first), signed(missed), text(reason), unsigned(len(alive))]
        for at, address in enumerate(sorted(alive)):
            if at % _EVENTS_IN_FRAME == 0:
                yield b""
            parts.append(_segment(device, address, alive[address]))
        yield self._frame(BASE, b"".join(parts))

    def events(self, device: int, first: int, events: Sequence[Event]) -> Iterator[bytes]:
        """Return events. `first` is the number of the first one in the program's own count."""
        for at in range(0, len(events), _EVENTS_IN_FRAME):
            some = events[at : at + _EVENTS_IN_FRAME]
            head = signed(device) + signed(first + at) + unsigned(len(some))
            yield self._frame(EVENTS, head + encode_events(some))

    def snapshot(self, pickled: bytes) -> Iterator[bytes]:
        """Return a snapshot of PyTorch in parts."""
        parts = [pickled[at : at + _PART] for at in range(0, len(pickled), _PART)]
        for left, part in zip(range(len(parts) - 1, -1, -1), parts):
            yield self._frame(SNAPSHOT, unsigned(left) + part)

    def tags(self, tags: Tags) -> bytes:
        """Return the notes of a device's memory."""
        numbers = (number for tag in tags.notes for number in tag)
        return self._frame(TAGS, signed(tags.device) + unsigned(len(tags.notes)) + _numbers(numbers))

    def _frame(self, type: int, payload: bytes) -> bytes:
        if len(payload) > FRAME_LIMIT:
            raise ValueError(f"a frame of type {type} would have {len(payload)} bytes")
        frame = bytes((type,)) + unsigned(len(payload)) + payload
        return frame + self._checksum.of(frame)


def _numbers(numbers: Iterable[int]) -> bytes:
    return b"".join(map(unsigned, numbers))


def _frame_entry(frame: Frame) -> bytes:
    return unsigned(frame.file) + unsigned(frame.function) + signed(frame.line)


def _stack_entry(stack: tuple[int, ...]) -> bytes:
    return unsigned(len(stack)) + _numbers(stack)


_ENTRIES: dict[int, Callable[[Any], bytes]] = {
    STRING_TABLE: text,
    FRAME_TABLE: _frame_entry,
    STACK_TABLE: _stack_entry,
    NOTE_TABLE: _numbers,
}

# Bits of the fields that are given, see docs/protocol.md.
_SEGMENT_GIVEN = unsigned(2 * 0xA0F)  # address, requested, allocated, active, device, size
_BLOCK_GIVEN = unsigned(0xC03)  # address, requested, state, size
_NO_STACK_ONE_BLOCK = b"\0\0\0\0\1"  # no stream, pool or type
# allocated; the given bits, the requested size, the stack and the note follow
_BLOCK_HEAD = bytes((1 | 0x08 | 0x10 | 0x20,))


def _segment(device: int, address: int, memory: Event) -> bytes:
    size = signed(memory.size)
    segment = (_SEGMENT_GIVEN, unsigned(address), size, size, size, size, signed(device), _NO_STACK_ONE_BLOCK)
    block = (_BLOCK_HEAD, size, _BLOCK_GIVEN, size, unsigned(memory.stack), unsigned(memory.note))
    return b"".join(segment + block)
