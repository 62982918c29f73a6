"""The bytes of a black box, see docs/blackbox.md: a header and two slots, without rings.

A slot is a whole stream of the protocol. A killed process stops between two writes, and the kernel keeps
those before. So the data is written first, and then the number that makes it count: a slot's length
after its bytes, its generation after all of them. A new generation goes into the other slot, and until
it is whole the old one counts.
"""

from __future__ import annotations

import struct

from .boxfile import ALIVE_AT, MAGIC, PAGE, File
from .journal import now_us

_SLOTS_AT = 64  # for each slot its generation and its length
_SLOT_BYTES = 16


class Full(Exception):
    """The slot has no room for the data."""


class Box:
    """One thread at a time. All methods raise an OSError if the file cannot be written."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.slot_bytes = (file.size // PAGE - 1) // 2 * PAGE
        self.written = 0  # bytes of the slot
        self._slot = 1
        self._generation = 0  # of the other slot, or of this one once it counts
        self.counts = False  # what was begun last is whole, and counts
        file.write(0, struct.pack("<8sQI", MAGIC, file.size, 0))

    def begin(self) -> None:
        """Begin a generation. Until `publish` the old one counts."""
        if self.counts:
            self._slot, self.counts = 1 - self._slot, False
        self.file.write(self._slot_header, bytes(8))
        self.written = 0

    def add(self, data: bytes) -> None:
        """Add bytes to the stream. They count after the next `publish`. If it raises `Full`, none were added."""
        if len(data) > self.slot_bytes - self.written:
            raise Full
        self.file.write(PAGE + self._slot * self.slot_bytes + self.written, data)
        self.written += len(data)

    def publish(self) -> None:
        """Make everything that was added count."""
        self.file.write(self._slot_header + 8, struct.pack("<Q", self.written))
        if not self.counts:
            self._generation, self.counts = self._generation + 1, True
            self.file.write(self._slot_header, struct.pack("<Q", self._generation))
            self.alive()

    def alive(self) -> None:
        """Note that the program runs."""
        self.file.write(ALIVE_AT, struct.pack("<q", now_us()))

    def head(self, length: int) -> bytes:
        """Return the first bytes of the slot."""
        return self.file.read(PAGE + self._slot * self.slot_bytes, length)

    @property
    def _slot_header(self) -> int:
        return _SLOTS_AT + self._slot * _SLOT_BYTES
