"""The checksums that frames may have."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

_POLYNOMIAL = 0x82F63B78  # with its lowest power in the top bit


def _table() -> list[int]:
    table = []
    for byte in range(256):
        remainder = byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (_POLYNOMIAL if remainder & 1 else 0)
        table.append(remainder)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Return the checksum that a stream has when its viewer asks for no other: slow in Python."""
    table, remainder = _TABLE, 0xFFFFFFFF
    for byte in data:
        remainder = (remainder >> 8) ^ table[(remainder ^ byte) & 255]
    return remainder ^ 0xFFFFFFFF


class Checksum(NamedTuple):
    """A checksum: what the header's last byte has for it, and what follows each frame."""

    header: int
    of: Callable[[bytes], bytes]


CHECKSUMS = {
    "crc32c": Checksum(0x00, lambda frame: crc32c(frame).to_bytes(4, "little")),
    "crc32": Checksum(0x40, lambda frame: zlib.crc32(frame).to_bytes(4, "little")),
    "none": Checksum(0x80, lambda frame: b""),
}
