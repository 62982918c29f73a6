"""A line in the text of PyTorch's exception that says where memtop wrote its report.

The observer of a failed request runs before the exception exists. So the exception's class gets a
`__str__` that adds the line to the next exception. Otherwise the program's exceptions run no code
of the agent.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch


class ExceptionLine:
    """Adds lines to the texts of exceptions while it is on."""

    def __init__(self) -> None:
        self._line = ""  # for the next exception
        self._lines: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._kind: type | None = None

    def on(self) -> None:
        """Begin. If the class already has a `__str__` of its own, leave it alone."""
        kind = torch.cuda.OutOfMemoryError
        if self._kind is None and "__str__" not in vars(kind):
            self._kind = kind
            kind.__str__ = lambda error: self._text(error)

    def off(self) -> None:
        """Put the class back as it was."""
        if self._kind is not None:
            del self._kind.__str__
            self._kind = None

    def next(self, line: str) -> None:
        """Set the line for the exception that is raised next, "" for none."""
        self._line = line

    def _text(self, error: Any) -> str:
        text = RuntimeError.__str__(error)
        line = self._lines.get(error)
        if line is None:
            line, self._line = self._line, ""
            self._lines[error] = line
        return f"{text}\n{line}" if line else text
