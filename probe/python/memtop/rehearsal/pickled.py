"""Stacks of the tables in PyTorch's form."""

from __future__ import annotations

from typing import Any

from ..link.tables import Tables

Dict = dict[str, Any]


def frames_of(tables: Tables, stack: int) -> list[Dict]:
    """Return the frames of a stack in PyTorch's form."""
    strings = tables.strings.entries
    lines = [tables.frames.entries[number] for number in tables.stacks.entries[stack]] if stack else []
    return [{"filename": strings[line.file], "line": line.line, "name": strings[line.function]} for line in lines]
