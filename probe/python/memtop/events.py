"""Events in the encoding of docs/protocol.md, as fast as Python can make them.

A program makes the same allocations in each step, so nearly every part of an event has been
encoded before: its bytes are looked up in a table.
"""

from __future__ import annotations

from collections.abc import Iterable

from .encoding import signed, unsigned
from .journal import Event

_SAME, _SAME_TIME, _EXTRA = 0x20, 0x40, 0x80
_PLAIN_ADDRESS = 0x20  # in the second byte: the address itself follows
_KEPT = 1 << 15  # the most entries in a table of encoded bytes


class _Numbers(dict[int, bytes]):
    """The encoded bytes of unsigned numbers."""

    def __missing__(self, number: int) -> bytes:
        if len(self) >= _KEPT:
            self.clear()
        encoded = self[number] = unsigned(number)
        return encoded


class _Rests(dict[tuple[int, int, int], bytes]):
    """The encoded bytes of a size, a stack and a note."""

    def __missing__(self, rest: tuple[int, int, int]) -> bytes:
        if len(self) >= _KEPT:
            self.clear()
        size, stack, note = rest
        encoded = self[rest] = signed(size) + unsigned(stack) + unsigned(note)
        return encoded


_numbers, _rests = _Numbers(), _Rests()
_HEADS = {head: bytes((head | _EXTRA, _PLAIN_ADDRESS)) for head in range(_EXTRA)}


def encode_events(events: Iterable[Event]) -> bytes:
    """Return the events of one frame. Their times must not decrease; the journal ensures that."""
    numbers, rests, heads = _numbers, _rests, _HEADS
    parts: list[bytes] = []
    add = parts.append
    before_address, before_rest, before_time = 0, (0, 0, 0), 0
    for kind, address, size, time_us, stack, note in events:
        rest = (size, stack, note)
        if time_us == before_time:
            kind |= _SAME_TIME
        if address == before_address and rest == before_rest:
            add(numbers[kind | _SAME])
        else:
            add(heads[kind])
            add(numbers[address])
            add(rests[rest])
            before_address, before_rest = address, rest
        if time_us != before_time:
            add(numbers[2 * (time_us - before_time)])
            before_time = time_us
    return b"".join(parts)


def forget() -> None:
    """Empty the tables of encoded bytes."""
    _numbers.clear()
    _rests.clear()
