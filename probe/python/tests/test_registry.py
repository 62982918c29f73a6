"""The registry of storages: what becomes known of their end."""

from __future__ import annotations

import _thread
import operator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402

from memtop.memory.host import HostMemory  # noqa: E402
from memtop.memory.registry import Registry, _Reference  # noqa: E402
from memtop.memory.stacks import Stacks  # noqa: E402


@pytest.fixture
def registry() -> Registry:
    link = Kept()
    return Registry(HostMemory(link), Stacks(link))


def test_an_interrupt_that_comes_as_storages_end_is_the_programs(registry: Registry) -> None:
    kept: list[Any] = [torch.ones(100) for _ in range(5)]
    for tensor in kept:
        registry.see(tensor, "activation")
    tensor = None
    with pytest.raises(KeyboardInterrupt):
        # No code of Python's runs between the interrupt and the storages' end, as within a backward.
        list(map(operator.methodcaller("__call__"), [_thread.interrupt_main, kept.clear]))
    assert registry.holdings() == []


def test_what_was_said_first_of_a_category_stays(registry: Registry) -> None:
    tensor = torch.ones(100)
    registry.see(tensor, "activation", "first", "output")
    holding = registry.see(tensor, "activation", "second", "saved")
    assert holding is not None
    assert (holding.layer, holding.role) == ("first", "output")
    registry.see(tensor, "gradient", "third", "weight")
    assert (holding.category, holding.layer, holding.role) == ("gradient", "third", "weight")


def test_the_end_of_a_storage_is_not_that_of_another_at_its_address(registry: Registry) -> None:
    tensor = torch.ones(100)
    holding = registry.see(tensor, "activation")
    assert holding is not None
    other = _Reference(torch.ones(1).untyped_storage())
    other.address = holding.address
    registry._ended.append(other)
    assert registry.holdings() == [holding]
