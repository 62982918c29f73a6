"""Values that the user says a rehearsed program reads: `--set gpt.py:16=128`."""

from __future__ import annotations

import os

SET = "MEMTOP_REHEARSAL_SET"  # a line of the program and its value each, by line breaks
UPPER = "MEMTOP_REHEARSAL_UPPER"  # is there where sizes are the largest that they can be

Given = dict[int, list[tuple[str, float]]]  # by the line's number: the end of its file's path, and the value


def values() -> Given:
    """Return what the user said."""
    found: Given = {}
    for entry in filter(None, os.environ.get(SET, "").split("\n")):
        line, _, value = entry.rpartition("=")
        file, _, number = line.rpartition(":")
        found.setdefault(int(number), []).append((file, _number(value)))
    return found


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def at(given: Given, path: str, number: int) -> float | None:
    """Return the value of a line, None where the user said none."""
    for file, value in given.get(number, ()):
        if path == file or path.endswith(os.sep + file):
            return value
    return None


def upper() -> bool:
    """Report whether sizes are to be the largest that they can be."""
    return UPPER in os.environ
