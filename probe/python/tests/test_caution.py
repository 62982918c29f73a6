"""The history while nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from recorded import SHORT
from standin import Allocator

from memtop.link.queue import tend
from memtop.memory.history import History
from memtop.memory.history_while_unwatched import CALM_NS, CHECK_NS, REST, SETTLED, UnwatchedHistory

GIB = 1 << 30


class Watched:
    """A program that steps, its allocator, and the caution."""

    def __init__(self, replace: Callable[..., None]) -> None:
        self.allocator = Allocator(SHORT)
        self.allocator.install(replace)
        self.allocator.total = 100 * GIB
        self.peak = 10 * GIB
        self.now = 0
        self.made = 0  # allocations
        replace(self.allocator.devices[0], "stats", self._stats)
        self.caution = UnwatchedHistory(History(), clock=lambda: self.now)

    def _stats(self) -> dict[str, dict[str, dict[str, int]]]:
        peaks = {name: {"all": {"peak": self.peak}} for name in ("allocated_bytes", "reserved_bytes")}
        return {**peaks, "allocation": {"all": {"allocated": self.made}}}

    def rest(self, allocations: int, rise: int = 0) -> None:
        """Let time pass without a step, and decide."""
        self.now += round(REST * 1e9)
        self.made += allocations
        self.peak += rise
        self.caution.rest()

    def steps(self, count: int, rise: int = 0, every: int = CHECK_NS) -> bool:
        """Make steps in each of which the peak rises. Report whether the history is on."""
        for _ in range(count):
            self.now += every
            self.peak += rise
            self.caution.stepped(self.now)
        return self.allocator.most is not None


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.delenv("MEMTOP_HISTORY", raising=False)
    found = Watched(monkeypatch.setattr)
    yield found
    found.caution.end()


def test_it_is_on_in_the_first_steps_and_off_when_the_peak_has_settled(program: Watched) -> None:
    program.caution.begin()
    assert program.steps(20, rise=GIB)
    assert program.steps(SETTLED - 1)
    assert not program.steps(1)
    assert not program.steps(100)


def test_it_is_on_again_when_the_device_would_be_full_soon(program: Watched) -> None:
    program.caution.begin()
    assert not program.steps(SETTLED + 1)
    assert program.steps(1, rise=4 * GIB, every=CALM_NS)  # 86 GiB more in 22 s
    assert not program.steps(SETTLED)


def test_it_stays_off_while_the_peak_rises_too_slowly_to_matter(program: Watched) -> None:
    program.caution.begin()
    assert not program.steps(SETTLED + 1)
    assert not program.steps(100, rise=1 << 20)  # 90 GiB more in 6 hours
    program.peak = 100 * GIB - (1 << 30)
    assert program.steps(1, rise=1 << 20, every=CALM_NS)


def test_it_looks_at_the_counters_at_most_four_times_a_second_and_once_when_it_is_off(program: Watched) -> None:
    program.caution.begin()
    assert program.steps(1000, every=1000), "no time has passed that would settle anything"
    assert not program.steps(SETTLED)
    assert not program.steps(3, rise=GIB, every=CALM_NS // 4), "it looked before the second had passed"
    assert program.steps(1, every=CALM_NS // 4)


def test_in_a_program_without_steps_it_is_off_when_requests_need_no_more_than_before(program: Watched) -> None:
    program.caution.begin()
    for _ in range(2 * SETTLED):
        program.rest(allocations=0)
    assert program.allocator.most is not None, "while nothing is allocated nothing is known"
    for _ in range(SETTLED + 1):
        program.rest(allocations=100)
    assert program.allocator.most is None
    program.rest(allocations=100, rise=50 * GIB)
    assert program.allocator.most is not None


def test_the_links_thread_decides_until_there_is_a_step(program: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memtop.memory.history_while_unwatched.present", lambda: True)
    decided: list[int] = []
    monkeypatch.setattr(program.caution, "rest", lambda: decided.append(1))
    assert program.caution.due() is None
    program.caution.begin()
    tend(program.caution)
    assert program.caution._rests_at is not None and decided == []
    program.caution._rests_at -= REST
    tend(program.caution)
    tend(program.caution)
    assert decided == [1]
    program.steps(1)
    assert program.caution.due() is None


@pytest.mark.parametrize(("mode", "first", "settled"), [("1", True, True), ("0", False, False)])
def test_the_environment_says_always_or_never(
    mode: str, first: bool, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOP_HISTORY", mode)
    program = Watched(monkeypatch.setattr)
    program.caution.begin()
    assert program.steps(0) == first
    assert program.steps(SETTLED + 1, rise=50 * GIB) == first
    assert program.steps(SETTLED + 1) == settled
