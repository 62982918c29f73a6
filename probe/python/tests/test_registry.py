"""The registry of storages: what becomes known of their end."""

from __future__ import annotations

import _thread
import operator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from memtop.host import HostMemory  # noqa: E402
from memtop.journal import Journal  # noqa: E402
from memtop.registry import Registry  # noqa: E402
from memtop.stacks import Stacks  # noqa: E402


@pytest.fixture
def registry() -> Registry:
    journal = Journal()
    return Registry(HostMemory(journal), Stacks(journal))


def test_an_interrupt_that_comes_as_storages_end_is_the_programs(registry: Registry) -> None:
    if not registry.exact:
        pytest.skip("this PyTorch's storages have to be asked whether they have ended")
    kept: list[Any] = [torch.ones(100) for _ in range(5)]
    for tensor in kept:
        registry.see(tensor, "activation")
    tensor = None
    with pytest.raises(KeyboardInterrupt):
        # No code of Python's runs between the interrupt and the storages' end, as within a backward.
        list(map(operator.methodcaller("__call__"), [_thread.interrupt_main, kept.clear]))
    assert registry.holdings() == []
