"""The times of collections that freed something."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from memtop.rehearsal.cycles import Cycles


def cycle() -> None:
    each: list[object] = []
    each.append(each)


@pytest.fixture
def cycles() -> Iterator[Cycles]:
    gc.collect()
    gc.disable()
    cycles = Cycles()
    cycles.begin()
    yield cycles
    gc.enable()


def test_a_collection_counts_if_it_frees_something(cycles: Cycles) -> None:
    before = time.time_ns() // 1000
    gc.collect()
    assert cycles.collected == []
    cycle()
    gc.collect(0)
    cycle()
    cycles.end()
    after = time.time_ns() // 1000
    (first, second), (third, fourth) = cycles.collected
    assert before <= first <= second <= third <= fourth <= after
    cycle()
    gc.collect()
    assert len(cycles.collected) == 2, "it goes on after its end"
