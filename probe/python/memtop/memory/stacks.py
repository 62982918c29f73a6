"""Python stacks of the calling thread, as numbers of the tables."""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
from types import CodeType, FrameType
from typing import Any

from .. import FOLDER
from ..link.queue import Link
from ..link.tables import EMPTY

DEEPEST = 64  # the most frames of a stack; outer frames are left out
# Files of the agent; the second begins those of functions that stand in for PyTorch's operations.
OWN = FOLDER, "<frozen memtop."


class Stacks:
    """Captures stacks. A known frame costs two look-ups, a known stack one more."""

    def __init__(self, link: Link) -> None:
        self._link = link
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
            with self._link.lock:
                stack = self._link.tables.stacks.number(key) if key else EMPTY
            self._stacks[key] = stack
        return stack

    def of_line(self, code: CodeType, line: int) -> int:
        """Return the number of the stack that is one line of a function."""
        with self._link.lock:
            frame = self._link.tables.frame(code.co_filename, code.co_name, line)
            return self._link.tables.stacks.number((frame,))

    def _frame(self, frame: FrameType) -> int:
        """Return the number of a frame that is not known yet, 0 for one of the agent's."""
        code, line = frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno
        numbers = self._codes.setdefault(id(code), (code, {}))[1]
        number = numbers[frame.f_lasti] = self._new(code, line)
        return number

    def _new(self, code: CodeType, line: int) -> int:
        if code.co_filename.startswith(OWN):
            return 0
        with self._link.lock:
            return self._link.tables.frame(code.co_filename, code.co_name, line)


def place_of(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program's own code: not of a library, not of the agent."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*OWN, "<")) and not any(part in name for part in LIBRARIES):
            return frame
        frame = frame.f_back
    return None


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a running frame, and leave the frame as it was.

    Before Python 3.13, asking a frame for its variables makes it keep them in a dictionary, and with them memory that
    the program has released. After a debugger's or a profiler's function, Python sets the variables from it. So the
    frame gets its former dictionary back, with its former contents, or none.
    """
    if sys.version_info >= (3, 13) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return dict(frame.f_locals)
    if not _READABLE:
        return {}
    place = _place_in(frame)
    before = dict(ctypes.cast(place, ctypes.py_object).value) if place.value else None
    held = frame.f_locals
    variables = dict(held)
    if before is not None:
        held.clear()
        held.update(before)
    else:
        place.value = None
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(held))  # the frame's reference
    return variables


# Where a frame of CPython points to the dictionary of its variables: an offset in bytes for each pointer on the way, of
# the fields f_frame and f_locals of PyFrameObject and _PyInterpreterFrame in CPython's sources.
_OFFSETS = {(3, 9): (56,), (3, 10): (56,), (3, 11): (24, 24), (3, 12): (24, 40)}.get(sys.version_info[:2], ())


def _place_in(frame: FrameType) -> ctypes.c_void_p:
    """Return the frame's own pointer to the dictionary of its variables."""
    *outer, last = _OFFSETS
    address = id(frame)
    for offset in outer:
        address = ctypes.c_void_p.from_address(address + offset).value or 0
    return ctypes.c_void_p.from_address(address + last)


def _is_readable() -> bool:
    """Report whether frames of this interpreter are as expected. Where they are not, variables are not read."""
    if not _OFFSETS or sys.implementation.name != "cpython" or hasattr(sys, "gettotalrefcount"):
        return False
    place = _place_in(sys._getframe())
    return place.value is None and id(sys._getframe().f_locals) == place.value


_READABLE = _is_readable()


def named_arguments() -> Any:
    """Return the keyword arguments of the module that is about to run. PyTorch's hooks do not get them, but the
    function that calls the hooks has them."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return variables_of(frame).get("kwargs") if frame is not None else None


LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", f"{os.sep}lib{os.sep}python")
