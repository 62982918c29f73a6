"""The peak that a step on a device would have had without some of its blocks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from memtop.settings.allocations import Allocations

# two calls save 100 and 200 bytes; then something takes 50 for a moment; then the backward takes them up, last first
CHANGES = [(1, 100), (2, 200), (9, 50), (9, -50), (2, -200), (1, -100)]
BACKWARD = {2: 4, 1: 5}


class Holding(SimpleNamespace):
    __hash__ = object.__hash__


def step() -> tuple[Allocations, Holding, Holding]:
    first, second = Holding(address=1), Holding(address=2)
    return Allocations(1000, CHANGES, {first: 1, second: 2}, dict(BACKWARD), ended=3), first, second


def test_the_peak_is_that_of_the_step_if_nothing_is_left_out() -> None:
    assert step()[0].peak({}, {}) == 1350


def test_what_is_recomputed_is_there_from_its_backward_on() -> None:
    allocations, first, second = step()
    assert allocations.peak({first: 1}, {}) == 1250, "the moment's 50 and the second's 200"
    assert allocations.peak({first: 1, second: 2}, {}) == 1200, "each comes back alone, at its backward"


def test_what_autocast_has_converted_stays_until_the_forward_ends() -> None:
    allocations, first, second = step()
    assert allocations.peak({second: 2}, {first: 1}) == 1200, "at the backward of the second"
    allocations.ended = 2  # before the moment's 50
    assert allocations.peak({second: 2}, {first: 1}) == 1200
    allocations.changes = [*CHANGES[:2], (9, 250), (9, -250), *CHANGES[4:]]
    assert allocations.peak({second: 2}, {first: 1}) == 1250, "it was gone when the 250 came"
    allocations.ended = 4
    assert allocations.peak({second: 2}, {first: 1}) == 1350


def test_an_address_that_is_used_again_belongs_to_the_later_block() -> None:
    changes = [(1, 500), (1, -500), (1, 100), (1, -100)]
    holding = Holding(address=1)
    assert Allocations(0, changes, {holding: 3}, {1: 3}).peak({holding: 1}, {}) == 500
    assert Allocations(0, changes, {holding: 1}, {1: 3}).peak({holding: 1}, {}) == 100
