"""The checksums that a stream's frames may carry."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import NamedTuple

_POLYNOMIAL = 0x82F63B78  # reversed: the lowest power is in the top bit


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
    """Return the CRC-32C, which a stream carries unless its viewer asks for another checksum: slow in Python."""
    table, remainder = _TABLE, 0xFFFFFFFF
    for byte in data:
        remainder = (remainder >> 8) ^ table[(remainder ^ byte) & 255]
    return remainder ^ 0xFFFFFFFF


class Checksum(NamedTuple):
    """A checksum: its bits in the last byte of the stream's header, and the function that makes it for a frame."""

    header: int
    of: Callable[[bytes], bytes]


CHECKSUMS = {
    "crc32c": Checksum(0x00, lambda frame: crc32c(frame).to_bytes(4, "little")),
    "crc32": Checksum(0x40, lambda frame: zlib.crc32(frame).to_bytes(4, "little")),
    "none": Checksum(0x80, lambda frame: b""),
}
