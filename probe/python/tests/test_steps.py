"""Steps at whose end there is nothing to do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402
from test_threads import in_a_thread  # noqa: E402

from memtop.link.program import Refused  # noqa: E402
from memtop.link.queue import STEP  # noqa: E402
from memtop.watch.sampling import Sampling  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402


class Quiet:
    """A program that nobody watches, and in which there is nothing to do for an hour."""

    def __init__(self) -> None:
        self.watch = Watch(Kept())
        self.optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        self.other = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        self.optimizer.step()
        self.watch.steps.rest(time.perf_counter_ns() + 3_600_000_000_000)


@pytest.fixture
def quiet() -> Iterator[Quiet]:
    program = Quiet()
    yield program
    program.watch.close()


def test_a_step_at_whose_end_there_is_nothing_to_do_is_counted_and_no_more(quiet: Quiet) -> None:
    quiet.watch.step_end.guarded = quiet.watch.guard(lambda _: 1 / 0)
    for _ in range(100):
        quiet.optimizer.step()
    assert quiet.watch.step == 101 and not quiet.watch.guard.error


def test_steps_of_another_optimizer_are_not_counted_between_quiet_ones(quiet: Quiet) -> None:
    for _ in range(30):
        quiet.optimizer.step()
        quiet.other.step()
    assert quiet.watch.step == 31


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda watch: watch.want(True), id="a viewer comes"),
        pytest.param(lambda watch: watch.settings.change("look", "every"), id="a setting is asked for"),
        pytest.param(lambda watch: watch.close(), id="the agent leaves"),
    ],
)
def test_a_quiet_program_is_looked_after_when_its_next_step_ends(quiet: Quiet, ask: Any) -> None:
    boundaries: list[int] = []
    guarded = quiet.watch.step_end.guarded
    quiet.watch.step_end.guarded = lambda optimizer: (boundaries.append(quiet.watch.step), guarded(optimizer))
    quiet.optimizer.step()
    assert boundaries == [] and in_a_thread(lambda: ask(quiet.watch)) is None
    quiet.optimizer.step()
    assert boundaries == [2]


def test_a_value_in_use_leaves_no_step_quiet(quiet: Quiet) -> None:
    quiet.watch.settings.change("look", "every")
    for _ in range(3):
        quiet.optimizer.step()
    assert quiet.watch.steps.quiet_until == 0
    quiet.watch.settings.change("look", "sampled")
    quiet.optimizer.step()
    assert quiet.watch.steps.quiet_until > 0


def test_a_change_of_a_step_that_was_quietly_begun_is_refused(quiet: Quiet) -> None:
    for _ in range(5):
        quiet.optimizer.step()
    quiet.watch.settings.change("look", "every", at=9)
    with pytest.raises(Refused, match="step 7 has begun already"):
        quiet.watch.settings.change("look", "sampled", at=7)
    quiet.optimizer.step()
    assert not quiet.watch.look.keeping.always
    quiet.optimizer.step()
    assert quiet.watch.look.keeping.always, "the request before the refused one stands"


def test_of_many_quick_steps_a_viewer_is_told_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memtop.watch.step_end.TELLING_NS", 3_600_000_000_000)
    watch = Watch(Kept())
    try:
        watch.want(True)
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        watch.sampling = Sampling(share=0, credit_ns=0)
        for _ in range(50):
            optimizer.step()
        told = [step["step"] for step in watch.link.latest(STEP)]
        assert told and len(told) < 5 and watch.step == 50
        watch.want(False)
        watch.want(True)
        optimizer.step()
        assert watch.link.latest(STEP)[-1]["step"] == 51
    finally:
        watch.close()
