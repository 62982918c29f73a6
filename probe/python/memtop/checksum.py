"""The checksum of frames: CRC-32C (Castagnoli)."""

from __future__ import annotations

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
    """Return the checksum of data."""
    table, remainder = _TABLE, 0xFFFFFFFF
    for byte in data:
        remainder = (remainder >> 8) ^ table[(remainder ^ byte) & 255]
    return remainder ^ 0xFFFFFFFF
