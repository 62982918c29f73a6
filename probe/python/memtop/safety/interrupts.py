"""What interrupts the agent's own code is the program's: a signal handler that raises, a debugger, another thread.

Whatever its type, such an exception goes on to the program. So nothing of the agent's that runs in a thread of the
program handles an exception without `let_through` or `ignored`.
"""

from __future__ import annotations

import signal
import traceback
from types import CodeType, FrameType, TracebackType
from typing import Any

from .. import FOLDER

_SIGNALS = signal.valid_signals()  # Python makes the set anew at each call
_BARE = (StopIteration, AssertionError, MemoryError)  # Python raises them without a text


class ignored:  # it reads as contextlib.suppress
    """Ignores exceptions of some types that the agent's own work raises in a `with` statement."""

    def __init__(self, *types: type[Exception]) -> None:
        self._types = types

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, type: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        """Report whether to ignore an exception."""
        return isinstance(error, self._types) and not is_of_program(error)


def let_through(error: BaseException) -> None:
    """Raise an exception again if it is the program's."""
    if is_of_program(error):
        raise error


def is_of_program(error: BaseException) -> bool:
    """Report whether an exception that came out of the agent's own work was raised by something that interrupted it."""
    if not isinstance(error, Exception):
        return True
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    handlers = {_code(handler) for number in _SIGNALS if callable(handler := signal.getsignal(number))}
    return any(frame.f_code in handlers or _interrupts(frame) for frame in frames) or _is_set(error, frames[-1])


def _interrupts(frame: FrameType) -> bool:
    """Report whether a call is one by the interpreter of a handler, or of a debugger: it was given the frame that it
    interrupted."""
    code, given = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)  # with *arguments
    values = [given.get(name) for name in code.co_varnames[:count]]
    values += [each for value in values if type(value) is tuple for each in value]
    return frame.f_back is not None and any(value is frame.f_back for value in values)


def _is_set(error: BaseException, innermost: FrameType) -> bool:
    """Report whether another thread has set an exception, or a handler in C: it comes from nowhere in code of ours."""
    if not innermost.f_code.co_filename.startswith(FOLDER) or isinstance(error, _BARE):
        return False
    return not error.args and not type(error).__module__.startswith(f"{__package__}.")


def _code(handler: Any) -> CodeType | None:
    function = getattr(handler, "func", handler)  # of a partial
    return getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
