"""The memory that the agent reports between two looks: the last count of the program's own thread, with its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402
from test_threads import in_a_thread  # noqa: E402
from test_watch import bytes_of  # noqa: E402

from memtop.link.program import Memory  # noqa: E402
from memtop.watch import model_calls  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402

UNKNOWN = [Memory(0, 0, 0, known_us=0)]


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch(Kept())
    yield watch
    watch.close()


def asked(watch: Watch) -> Memory:
    """Ask as the server does, in a thread of its own."""
    (memory,) = list(call_in_a_thread(watch.devices))
    return memory


def call_in_a_thread(function: Any) -> Any:
    results: list[Any] = []
    assert in_a_thread(lambda: results.append(function())) is None
    return results[0]


class Job:
    def __init__(self) -> None:
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self) -> None:
        self.model(torch.randn(4, 8)).sum().backward()
        self.optimizer.step()

    def trained_bytes(self) -> int:
        parameters = list(self.model.parameters())
        state = [tensor for kept in self.optimizer.state.values() for tensor in kept.values()]
        return bytes_of([*parameters, *[p.grad for p in parameters if p.grad is not None], *state])


def test_before_a_first_step_nothing_is_known(watch: Watch) -> None:
    assert call_in_a_thread(watch.devices) == UNKNOWN


def test_a_program_that_nobody_watches_is_counted_at_its_steps_to_the_byte(watch: Watch) -> None:
    job, before = Job(), time.time_ns() // 1000
    job.step()
    memory = asked(watch)
    assert memory.allocated == memory.reserved == job.trained_bytes()
    assert memory.known_us is not None and before <= memory.known_us <= time.time_ns() // 1000


def test_what_a_viewer_sees_first_is_there_after_one_step(watch: Watch) -> None:
    job = Job()
    job.step()
    counted = asked(watch)
    call_in_a_thread(lambda: watch.want(True))
    assert not watch.looked
    assert asked(watch) == counted  # until the program is measured, the last count
    job.step()
    assert watch.looked
    assert asked(watch).allocated >= job.trained_bytes()


def test_a_look_for_the_box_after_a_viewer_has_gone_leaves_the_last_count(watch: Watch) -> None:
    job = Job()
    call_in_a_thread(lambda: watch.want(True))
    for _ in range(2):
        job.step()
    call_in_a_thread(lambda: watch.want(False))
    for _ in range(2):  # the hooks go with the first step
        job.step()
    with watch.registry.lock:  # as a look for the box does when it has put away what it found
        watch.registry.clear(watch.memory)
        watch.memory.clear()
    assert asked(watch).allocated == job.trained_bytes()


def test_a_program_without_steps_is_looked_at_when_it_calls_a_model(watch: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(model_calls, "PATIENCE_NS", 0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)).eval()
    held = bytes_of([*model.parameters(), *model.buffers()])
    assert call_in_a_thread(watch.devices) == UNKNOWN
    model(torch.randn(2, 8))
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert asked(watch).allocated == held
    call_in_a_thread(lambda: watch.want(True))  # from here on only its next call is waited for
    kept = model(torch.randn(2, 8)).detach()
    assert watch.looked and not torch.nn.modules.module._global_forward_pre_hooks
    assert asked(watch).allocated >= held
    del kept


def test_a_viewer_of_a_program_without_steps_needs_to_ask_nothing(watch: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(model_calls, "PATIENCE_NS", 0)
    call_in_a_thread(lambda: watch.want(True))
    model = torch.nn.Linear(8, 8)
    model(torch.randn(2, 8))
    assert watch.looked


def test_a_viewer_that_comes_right_after_another_sees_all_after_one_step(watch: Watch) -> None:
    job = Job()
    call_in_a_thread(lambda: watch.want(True))
    for _ in range(2):
        job.step()  # from here on there are hooks; they are removed only after the next step
    call_in_a_thread(lambda: watch.want(False))
    call_in_a_thread(lambda: watch.want(True))
    job.step()
    assert asked(watch).allocated >= job.trained_bytes()


def test_a_program_without_steps_is_looked_at_between_its_calls_alone(watch: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(model_calls, "PATIENCE_NS", 0)
    looked: list[str] = []
    monkeypatch.setattr(watch.models, "add", lambda module: looked.append(type(module).__name__))

    class Asking(torch.nn.Linear):
        def forward(self, x: Any) -> Any:
            call_in_a_thread(watch.devices)  # while the model that has this layer runs
            return super().forward(x)

    model = torch.nn.Sequential(Asking(4, 4), torch.nn.ReLU())
    model(torch.randn(1, 4))
    assert looked == []  # a layer inside a running call is not the moment to measure
    model(torch.randn(1, 4))
    assert looked == ["Sequential"]


def test_of_calls_that_began_together_one_is_looked_at(watch: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(model_calls, "PATIENCE_NS", 0)
    looked: list[int] = []
    monkeypatch.setattr(watch.models, "add", lambda module: looked.append(threading.get_ident()))
    call_in_a_thread(watch.devices)
    hooks = list(torch.nn.modules.module._global_forward_pre_hooks.values())
    model = torch.nn.Linear(8, 8)
    for _ in range(2):  # PyTorch may do so in two threads, which read the hooks before either calls one
        call_in_a_thread(lambda: [hook(model, ()) for hook in hooks])
    assert len(looked) == 1


def test_a_call_is_not_taken_up_beside_a_step_of_another_thread(watch: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(model_calls, "PATIENCE_NS", 0)
    model = torch.nn.Linear(8, 8)
    call_in_a_thread(lambda: watch.want(True))
    with watch.taking:
        model(torch.randn(2, 8))
    assert not watch.looked
    call_in_a_thread(watch.devices)
    model(torch.randn(2, 8))
    assert watch.looked


def test_a_thread_that_computes_in_python_does_not_hold_up_a_scan(watch: Watch) -> None:
    ended, until = threading.Event(), time.monotonic() + 60

    def compute() -> None:
        while not ended.is_set() and time.monotonic() < until:
            sum(range(1000))

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for _ in range(3):
            watch.look.gathering.scan()
        assert time.monotonic() < until
    finally:
        ended.set()
        thread.join()


def test_tuples_that_another_thread_fills_are_left_alone(watch: Watch) -> None:
    ended, failed = threading.Event(), []

    def fill() -> None:
        try:
            while not ended.is_set():
                tuple(number for number in range(50))
        except SystemError as error:  # another reference to the tuple existed
            failed.append(error)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for _ in range(20):
            watch.look.gathering.scan()
    finally:
        ended.set()
        thread.join()
    assert failed == []
