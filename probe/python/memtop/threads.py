"""Which thread may touch what is the program's: its tensors, modules and optimizers.

PyTorch frees a gradient without Python's global lock. A thread that reads one meanwhile
ends the program with a segmentation fault, so a lock of Python's is no protection. The
rule is that only a thread of the program touches such a thing, and only within what
PyTorch calls there: a hook, or the end of an optimizer's step. All other threads of the
agent read values that such a call has finished: numbers, texts, tuples of them.

`called_by_pytorch` marks what PyTorch calls, `touches` what may run only within that. A
test finds functions that touch something and have no mark. With MEMTOP_DEBUG_THREADS=1
in its environment, as in all tests, the agent checks each touch while it runs; without
it the marks cost nothing.
"""

from __future__ import annotations

import functools
import os
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

CHECKED = os.environ.get("MEMTOP_DEBUG_THREADS", "") not in ("", "0")

OWN = "memtop"  # begins the names of the agent's threads

Function = TypeVar("Function", bound=Callable[..., Any])

_here = threading.local()

trespasses: list[str] = []  # one line for each touch that was not allowed


class Trespass(BaseException):
    """A thread touched what it must not. Nothing that expects an Exception hides it."""


@contextmanager
def allowed() -> Iterator[None]:
    """Have this thread be one of the program's, within a call of PyTorch's."""
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
    """Report whether the program has no thread of Python's but this one; the agent's own do not count."""
    this = threading.current_thread()
    return all(thread is this or thread.name.startswith(OWN) for thread in threading.enumerate())


def touches(function: Function) -> Function:
    """Mark a function that touches tensors, modules or optimizers."""
    if not CHECKED:
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
