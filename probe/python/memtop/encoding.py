"""Numbers, texts and JSON in the encoding of docs/protocol.md."""

from __future__ import annotations

import json
import math
from typing import Any


def unsigned(number: int) -> bytes:
    """Return a non-negative number: seven bits a byte, lowest first."""
    if number < 0x80:
        return bytes((number,))
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def signed(number: int) -> bytes:
    """Return a number that may be negative."""
    return unsigned(2 * number if number >= 0 else -2 * number - 1)


def text(value: str) -> bytes:
    """Return a text with its length. What Unicode cannot encode becomes a question mark."""
    encoded = value.encode("utf-8", "replace")
    return unsigned(len(encoded)) + encoded


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # json.dumps makes an encoder each time


def json_text(value: Any) -> str:
    """Return JSON in ASCII. NaN and the infinities become the texts "NaN", "+Inf" and "-Inf"."""
    try:
        line = _encode(value)
    except ValueError:
        line = json.dumps(_finite(value), separators=(",", ":"))
    return line.replace("\x7f", "\\u007f")  # json does not escape this control character


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
