"""Which threads may touch the program's objects: its tensors, modules and optimizers.

PyTorch frees a gradient without Python's global lock. If another thread reads the gradient meanwhile, the
program ends with a segmentation fault, and a Python lock cannot prevent it. So only a thread of the program
touches such objects, and only inside a call by PyTorch: a hook, or the end of an optimizer's step.
All other threads of the agent read finished results of such calls: numbers, texts, and tuples of
them.

`called_by_pytorch` marks functions that PyTorch calls, `touches` marks functions that may run only
inside those, or a class whose methods may. A test finds functions that touch something and have no mark. With
MEMTOP_DEBUG_THREADS=1 in its environment, as in all tests, the agent checks each touch while it runs.
Without it the marks cost nothing.
"""

from __future__ import annotations

import _thread
import functools
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Callable, TypeVar

CHECKED = os.environ.get("MEMTOP_DEBUG_THREADS", "") not in ("", "0")

# Signals that report a fault of the thread itself: they cannot be blocked.
_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}

Function = TypeVar("Function", bound=Callable[..., Any])

_here = threading.local()

trespasses: list[str] = []  # one line for each forbidden touch


class Trespass(BaseException):
    """A thread touched what it must not. It is no Exception, so that nothing that catches those hides it."""


@contextmanager
def allowed() -> Iterator[None]:
    """Treat this thread as one of the program's, inside a call by PyTorch."""
    before = getattr(_here, "within", False)
    _here.within = True
    try:
        yield
    finally:
        _here.within = before


def called_by_pytorch(function: Function) -> Function:
    """Mark a function that PyTorch calls on a thread of the program."""
    if not CHECKED:
        return function

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with allowed():
            return function(*arguments, **named)

    return called  # type: ignore[return-value]


def is_only_one() -> bool:
    """Report whether the program has no other Python thread than this one. The agent's own threads do not count."""
    return all(thread.ident == threading.get_ident() for thread in threading.enumerate())


def start(function: Callable[[], None]) -> None:
    """Call a function in a thread of the agent's own, or raise RuntimeError if none can be started.

    `threading` does not know this thread, so the program does not wait for it when it joins all threads, and puts no
    functions of its profiler or debugger there. Signals are blocked in it from its beginning, so that the program's own
    threads get them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _FAULTS)
    try:
        _thread.start_new_thread(function, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def touches(function: Function) -> Function:
    """Mark a function that touches tensors, modules or optimizers, or a class that belongs to the thread that may."""
    if not CHECKED:
        return function
    if isinstance(function, type):
        for name, method in list(vars(function).items()):
            if isinstance(method, FunctionType) and name != "__init__" and not hasattr(method, "__wrapped__"):
                setattr(function, name, touches(method))
        return function

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if not getattr(_here, "within", False):
            _trespass(function.__qualname__)
        return function(*arguments, **named)

    return checked  # type: ignore[return-value]


def _trespass(name: str) -> None:
    caller = traceback.extract_stack(limit=3)[0]
    line = f"{name} was called by {caller.filename}:{caller.lineno} in the thread {threading.current_thread().name}"
    trespasses.append(line)
    os.write(2, f"memtop: {Trespass.__name__}: {line}\n".encode())
    raise Trespass(line)
