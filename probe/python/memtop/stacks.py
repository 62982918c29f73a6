"""Python stacks of the calling thread, as numbers of the tables."""

from __future__ import annotations

import inspect
import os
import sys
from types import CodeType, FrameType
from typing import Any

from .journal import Journal
from .tables import EMPTY

DEEPEST = 64  # the most frames of a stack; outer frames are left out
OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Stacks:
    """Captures stacks. A known frame costs two look-ups, a known stack one more."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        # By the id of the code, which stays valid because the code is kept here, and by the instruction in it: asking
        # the interpreter for its line takes far longer.
        self._codes: dict[int, tuple[CodeType, dict[int, int]]] = {}
        self._stacks: dict[tuple[int, ...], int] = {}

    def capture(self, frame: FrameType | None = None) -> int:
        """Return the number of the caller's stack, without the agent's own frames."""
        frame = frame or sys._getframe(1)
        frames: list[int] = []
        codes = self._codes
        for _ in range(DEEPEST):
            known = codes.get(id(frame.f_code))
            number = known[1].get(frame.f_lasti) if known is not None else None
            if number is None:
                number = self._frame(frame)
            if number:
                frames.append(number)
            if frame.f_back is None:
                break
            frame = frame.f_back
        key = tuple(frames)
        stack = self._stacks.get(key)
        if stack is None:
            with self._journal.lock:
                stack = self._journal.tables.stacks.number(key) if key else EMPTY
            self._stacks[key] = stack
        return stack

    def of_line(self, code: CodeType, line: int) -> int:
        """Return the number of the stack that is one line of a function."""
        with self._journal.lock:
            frame = self._journal.tables.frame(code.co_filename, code.co_name, line)
            return self._journal.tables.stacks.number((frame,))

    def _frame(self, frame: FrameType) -> int:
        """Return the number of a frame that is not known yet, 0 for one of the agent's."""
        code, line = frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno
        numbers = self._codes.setdefault(id(code), (code, {}))[1]
        number = numbers[frame.f_lasti] = self._new(code, line)
        return number

    def _new(self, code: CodeType, line: int) -> int:
        if code.co_filename.startswith(OWN):
            return 0
        with self._journal.lock:
            return self._journal.tables.frame(code.co_filename, code.co_name, line)


def place_of(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program's own code: not of a library, not of the agent."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((OWN, "<")) and not any(part in name for part in LIBRARIES):
            return frame
        frame = frame.f_back
    return None


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a running frame.

    Before Python 3.13, asking a frame for its variables makes it keep them, and the memory that the program has
    released, until it is asked again. So this undoes it, unless the program has the same dictionary, from `locals()`.
    """
    held = frame.f_locals
    if sys.version_info >= (3, 13) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return dict(held)
    variables = dict(held)
    if sys.getrefcount(held) <= 3:  # those of the frame, of `held` and of the argument
        held.clear()
    return variables


def named_arguments() -> Any:
    """Return the keyword arguments of the module that is about to run. PyTorch's hooks do not get them, but the
    function that calls the hooks has them."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return variables_of(frame).get("kwargs") if frame is not None else None


LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", f"{os.sep}lib{os.sep}python")
