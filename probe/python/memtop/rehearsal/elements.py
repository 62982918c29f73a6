"""Values as the bytes of a tensor's elements."""

from __future__ import annotations

import ctypes
import struct

_FORMATS = {
    "torch.bool": "?", "torch.uint8": "B", "torch.int8": "b", "torch.int16": "h", "torch.int32": "i",
    "torch.int64": "q",
    "torch.float16": "e", "torch.float32": "f", "torch.float64": "d",
}  # fmt: skip


def put(address: int, size: int, value: float | None, dtype: str | None = None) -> None:
    """Write a value into every element of the memory at an address."""
    if value is not None:
        content = elements(size, value, dtype)
        ctypes.memmove(address, content, len(content))


def elements(size: int, value: float, dtype: str | None = None) -> bytes:
    """Return `size` bytes with a value in every element. If the type is not known, an integer takes 8 bytes where
    `size` allows it, and a fractional number takes 4."""
    if dtype is None:
        dtype = _type(size, value)
    if dtype == "torch.bfloat16":
        one = struct.pack("<f", value)[2:]
    elif dtype not in _FORMATS:
        return b""
    else:
        one = struct.pack("<" + _FORMATS[dtype], value if _FORMATS[dtype] in "efd" else int(value))
    return one * (size // len(one))


def _type(size: int, value: float) -> str:
    if size % 4:
        return "torch.uint8"
    if isinstance(value, float):
        return "torch.float32"
    return "torch.int32" if size % 8 else "torch.int64"
