"""Events as docs/protocol.md writes them, as quickly as Python can.

A program makes the same allocations in each step, so nearly every number has been
written before: the bytes of numbers are looked up, not made.
"""

from __future__ import annotations

from collections.abc import Iterable

from .encoding import signed, unsigned
from .journal import Event

_SAME, _SAME_TIME, _EXTRA = 0x20, 0x40, 0x80
_PLAIN_ADDRESS = 0x20  # of the second byte: the address itself is written
_KEPT = 1 << 15  # numbers whose bytes are kept


class _Encoded(dict[int, bytes]):
    """The bytes of unsigned numbers that were written before."""

    def __missing__(self, number: int) -> bytes:
        if len(self) >= _KEPT:
            self.clear()
        encoded = self[number] = unsigned(number)
        return encoded


_encoded = _Encoded()


def encode_events(events: Iterable[Event]) -> bytes:
    """Return the events of one frame."""
    encoded = _encoded
    parts: list[bytes] = []
    add = parts.append
    before_address = before_size = before_stack = before_note = before_time = 0
    for kind, address, size, time_us, stack, note in events:
        same_time = _SAME_TIME if time_us == before_time else 0
        if address == before_address and size == before_size and note == before_note and stack == before_stack:
            add(encoded[kind | _SAME | same_time])
        else:
            add(_HEADS[kind | same_time])
            add(encoded[address])
            add(encoded[2 * size])
            add(encoded[stack])
            add(encoded[note])
            before_address, before_size, before_stack, before_note = address, size, stack, note
        if not same_time:
            add(signed(time_us - before_time))
            before_time = time_us
    return b"".join(parts)


_HEADS = {head: bytes((head | _EXTRA, _PLAIN_ADDRESS)) for head in range(0x80)}
