"""A line in the text of PyTorch's exception that says where the answer to it lies.

The observer of a failed request runs before there is an exception. So the text of the
class grows by the line: what is raised next is the one that it belongs to. Nothing that
the program does with exceptions goes through code of the agent but their text.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch


class Mention:
    """Adds lines to the texts of exceptions, while it is on."""

    def __init__(self) -> None:
        self._line = ""  # for the exception that comes next
        self._lines: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._kind: type | None = None

    def on(self) -> None:
        """Begin. Where the class has a text of its own by now, it is left alone."""
        kind = torch.cuda.OutOfMemoryError
        if self._kind is None and "__str__" not in vars(kind):
            self._kind = kind
            kind.__str__ = lambda error: self._text(error)

    def off(self) -> None:
        """End: the class is as it was."""
        if self._kind is not None:
            del self._kind.__str__
            self._kind = None

    def next(self, line: str) -> None:
        """Say the line that belongs to the exception that is raised next, "" for none."""
        self._line = line

    def _text(self, error: Any) -> str:
        text = RuntimeError.__str__(error)
        line = self._lines.get(error)
        if line is None:
            line, self._line = self._line, ""
            self._lines[error] = line
        return f"{text}\n{line}" if line else text
