"""The messages of the link, as bytes: a length, and a list of entries in the form of Python's marshal, which C code
makes. Go's package sensor reads them."""

from __future__ import annotations

import json
import marshal
import math
import struct
from collections.abc import Iterable
from typing import Any, Callable

from .tables import FRAME_TABLE, NOTE_TABLE, STACK_TABLE, STRING_TABLE

# Kinds of entries, as in Go's package sensor.
(
    STRINGS, FRAMES, STACKS, NOTES, EVENT, STEP, GAUGES, SNAPSHOT, FORGET, LOOKED, DESCRIBE, ANSWER,
    REFUSE, MISSED, BYE, SURVEY,
) = range(16)  # fmt: skip

_KINDS = {STRING_TABLE: STRINGS, FRAME_TABLE: FRAMES, STACK_TABLE: STACKS, NOTE_TABLE: NOTES}
_IN_JSON = (STEP, GAUGES, DESCRIBE)
_FORMAT = 2  # of marshal: without references, so that a reader needs no memory of what came before


def packed(new: Iterable[tuple[int, int, list[Any]]], entries: Iterable[tuple[Any, ...]]) -> bytes:
    """Return a message with new entries of the tables, and with entries of the link."""
    tables = [(_KINDS[type], [_plain[type](entry) for entry in added]) for type, _, added in new]
    rest = [(entry[0], json_text(entry[1])) if entry[0] in _IN_JSON else entry for entry in entries]
    return framed(marshal.dumps([*tables, *rest], _FORMAT))


def framed(data: bytes) -> bytes:
    """Return a message with its length."""
    return struct.pack("<I", len(data)) + data


def _text(value: str) -> str:
    """Return a text without what Unicode cannot encode."""
    return value.encode("utf-8", "replace").decode()


_plain: dict[int, Callable[[Any], Any]] = {
    STRING_TABLE: _text, FRAME_TABLE: tuple, STACK_TABLE: tuple, NOTE_TABLE: tuple,
}  # fmt: skip

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # json.dumps makes an encoder each time


def json_text(value: Any) -> bytes:
    """Return JSON in ASCII. NaN and the infinities become the texts "NaN", "+Inf" and "-Inf"."""
    try:
        return _encode(value).encode()
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
