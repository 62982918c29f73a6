"""Values that a rehearsed program reads although nothing computes them, and those that the user sets for some lines:
`--set gpt.py:16=128`."""

from __future__ import annotations

import os

from .imitated import told

Given = dict[int, list[tuple[str, float]]]  # by line number: the end of the file's path, and the value


def values() -> Given:
    """Return the values that the user set."""
    found: Given = {}
    for entry in told()["set"] or ():
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
    """Return the value of a line, None if the user set none."""
    for file, value in given.get(number, ()):
        if path == file or path.endswith(os.sep + file):
            return value
    return None


def upper() -> bool:
    """Report whether counted sizes should be as large as possible."""
    return bool(told()["values"] == "upper")


def ones() -> bool:
    """Report whether what nothing computes should read as ones."""
    return bool(told()["values"] == "ones")
