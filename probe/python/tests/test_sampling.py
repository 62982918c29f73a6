"""How often the agent looks: one purse over all looks, however often viewers come."""

from __future__ import annotations

import pytest

from memtop.watch.sampling import COMING, COMING_NS, OWED_NS, Purse, Sampling

STEP = 2_000_000  # nanoseconds, of a step alone


class Job:
    """A program that makes steps while viewers come. The clock advances with what it does."""

    def __init__(self, budgets: int, cost: int) -> None:
        self.now = 0
        self.purse = Purse(lambda: self.now)
        self.budgets = [Sampling(0.004, 100_000_000, self.purse) for _ in range(budgets)]
        self.cost = cost
        self.looked: list[int] = []

    def run(self, seconds: float, viewers_each: float) -> int:
        """Return how many steps it makes."""
        steps, due, end = 0, self.now, self.now + seconds * 1e9
        while self.now < end:
            if self.now >= due:
                due += int(viewers_each * 1e9)
                for budget in self.budgets:
                    budget.begin(6, 60)
            self.now += STEP
            steps += 1
            for budget in self.budgets:
                if budget.next(STEP):
                    self.looked.append(self.now)
                    self.now += self.cost
                    budget.pay(self.cost)
                    self.purse.pay(self.cost)
        return steps


CASES = {
    "one viewer after the other, cheap looks": (1, 1_000_000, 0.5),
    "one viewer after the other, looks of 50 ms": (1, 50_000_000, 0.5),
    "several budgets": (3, 50_000_000, 0.5),
    "viewers in each step": (3, 20_000_000, 0.001),
    "looks of two seconds": (1, 2_000_000_000, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_looks_leave_the_job_half_of_its_time_however_often_viewers_come(case: str) -> None:
    budgets, cost, each = CASES[case]
    job = Job(budgets, cost)
    job.run(30, each)  # what may be spent at once is spent
    assert job.run(60, each) >= 60e9 / STEP / 2
    assert job.looked[-1] > 30e9  # there are looks all the same


def test_the_first_viewer_gets_a_look_at_once() -> None:
    job = Job(1, 50_000_000)
    job.run(0.01, 1)
    assert job.looked == [STEP]


def test_a_viewer_who_comes_when_all_is_spent_gets_a_look_when_the_purse_has_something_again() -> None:
    job = Job(1, 0)
    job.budgets[0].begin()
    job.budgets[0].pay(10**9)
    job.purse.pay(COMING_NS + 100_000_000)
    job.run(1, 2)
    assert 100_000_000 / COMING < job.looked[0] <= 100_000_000 / COMING + 2 * STEP


def test_what_is_owed_has_an_end() -> None:
    purse = Purse(lambda: 0)
    purse.pay(10**12)
    assert purse.left == -OWED_NS


@pytest.mark.parametrize("hurried", [False, True])
def test_only_looks_for_the_effect_of_a_change_do_not_wait_for_the_purse(hurried: bool) -> None:
    purse = Purse(lambda: 0)
    purse.pay(10**12)
    budget = Sampling(share=0, credit_ns=0, purse=purse)
    budget.begin(looks=2, hurried=hurried)
    assert [budget.next(STEP) for _ in range(3)] == [hurried, hurried, False]
    assert not budget.hurried
