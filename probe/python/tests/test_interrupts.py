"""What a signal handler, a debugger or another thread raises in the agent's hooks reaches the program."""

from __future__ import annotations

import ctypes
import functools
import gc
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from jobs import Job, dropping  # noqa: E402

from memtop.safety.guard import Guard  # noqa: E402
from memtop.safety.interrupts import ignored, is_of_program  # noqa: E402


class Timeout(TimeoutError):
    """What the handlers raise: a kind of OSError, as the usual one is."""


def plain(number: int, frame: Any) -> None:
    raise Timeout


def forgetful(number: int, frame: Any) -> None:
    del number, frame
    raise Timeout


def replaced(number: int, frame: Any) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    raise Timeout


def called_with(text: str, number: int, frame: Any) -> None:
    raise RuntimeError(text)


class Handler:
    def method(self, *arguments: Any) -> None:
        raise Timeout

    def __call__(self, number: int, frame: Any) -> None:
        raise Timeout


@pytest.fixture(autouse=True)
def no_alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    sys.settrace(None)
    while gc.collect():  # generators that were interrupted run once more in each collection, and keep models until then
        pass


def by_signal(handler: Any) -> Callable[[], None]:
    def interrupt() -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.raise_signal(signal.SIGALRM)

    return interrupt


def by_debugger() -> None:
    def trace(frame: Any, event: str, argument: Any) -> None:
        raise Timeout

    sys.settrace(trace)
    threading.get_ident()
    (lambda: None)()


INTERRUPTS = {
    "a handler": by_signal(plain),
    "a handler that deletes its arguments": by_signal(forgetful),
    "a handler that is no longer set": by_signal(replaced),
    "a handler with an argument of its own": by_signal(functools.partial(called_with, "late")),
    "a method": by_signal(Handler().method),
    "an object": by_signal(Handler()),
    "a debugger": by_debugger,
}


@pytest.mark.parametrize("interrupt", INTERRUPTS.values(), ids=INTERRUPTS)
def test_a_guarded_hook_and_a_with_statement_let_it_through(interrupt: Callable[[], None]) -> None:
    guard = Guard()
    with pytest.raises((Timeout, RuntimeError)):
        guard(interrupt)()
    with pytest.raises((Timeout, RuntimeError)), ignored(Exception):
        interrupt()
    assert guard.error == ""


def test_an_exception_of_another_thread_is_let_through() -> None:
    code = compile("interrupt()\nfor _ in range(1000): pass", Guard.__call__.__code__.co_filename, "exec")
    thread, timeout = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(Timeout)
    interrupt = functools.partial(ctypes.pythonapi.PyThreadState_SetAsyncExc, thread, timeout)
    guard = Guard()
    with pytest.raises(Timeout):
        guard(lambda: exec(code, {"interrupt": interrupt}))()
    assert guard.error == ""


def test_failures_of_the_agent_are_kept_from_the_program() -> None:
    def fails(*_: Any) -> None:
        raise OSError("the agent's own")

    for own in (fails, lambda: next(iter(())), lambda: {}["missing"], lambda: fails(sys._getframe(1))):
        guard = Guard()
        guard(own)()
        assert guard.error
        with ignored(Exception):
            own()


def test_a_program_that_fails_has_its_own_exception_while_a_handlers_is_handled() -> None:
    try:
        by_signal(plain)()
    except Timeout:
        try:
            raise ValueError("of the agent")
        except ValueError as error:
            assert not is_of_program(error)


@pytest.mark.real
@pytest.mark.parametrize("key", ["", "checkpoint"])
def test_every_exception_of_a_handler_arrives_and_the_agent_goes_on(key: str) -> None:
    job, chance, raised, caught, armed = Job(dropping), random.Random(1), 0, 0, False

    def train_for_a_while() -> None:
        nonlocal armed
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 4e-2))
            if key:
                job.change(key, chance.choice(["all", "off"]))
            job.train(1)
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def late(number: int, frame: Any) -> None:
        nonlocal armed, raised
        if armed:
            armed, raised = False, raised + 1
            raise Timeout

    signal.signal(signal.SIGALRM, late)
    job.train(3)
    while raised < 40:
        try:
            train_for_a_while()
        except Timeout:  # noqa: PERF203
            caught += 1
    before = len(job.steps())
    job.train(3)
    assert (raised - caught, job.watch.guard.error) == (0, "")
    assert len(job.steps()) == before + 3 and job.steps()[-1]["layers"]
    job.close()
    job.train(1)
    hooks = torch.nn.modules.module
    assert not hooks._global_forward_pre_hooks and not hooks._global_forward_hooks
    assert all("forward" not in vars(module) for module in job.model.modules())
