"""Events as docs/protocol.md writes them, as quickly as Python can.

A program makes the same allocations in each step, so nearly all that an event says
has been written before: its bytes are looked up, not made.
"""

from __future__ import annotations

from collections.abc import Iterable

from .encoding import signed, unsigned
from .journal import Event

_SAME, _SAME_TIME, _EXTRA = 0x20, 0x40, 0x80
_PLAIN_ADDRESS = 0x20  # of the second byte: the address itself is written
_KEPT = 1 << 15  # entries of a table of bytes


class _Numbers(dict[int, bytes]):
    """The bytes of unsigned numbers."""

    def __missing__(self, number: int) -> bytes:
        if len(self) >= _KEPT:
            self.clear()
        encoded = self[number] = unsigned(number)
        return encoded


class _Rests(dict[tuple[int, int, int], bytes]):
    """The bytes of a size, a stack and a note."""

    def __missing__(self, rest: tuple[int, int, int]) -> bytes:
        if len(self) >= _KEPT:
            self.clear()
        size, stack, note = rest
        encoded = self[rest] = signed(size) + unsigned(stack) + unsigned(note)
        return encoded


_numbers, _rests = _Numbers(), _Rests()
_HEADS = {head: bytes((head | _EXTRA, _PLAIN_ADDRESS)) for head in range(_EXTRA)}


def encode_events(events: Iterable[Event]) -> bytes:
    """Return the events of one frame. Their times do not go back, which the journal sees to."""
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
    """Let go of the bytes that were kept."""
    _numbers.clear()
    _rests.clear()
