"""What a collection of garbage frees is what cycles alone kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from memtop.cycles import FREQUENT, Cycles  # noqa: E402

HELD = [0, 0]  # bytes by device


class Block:
    """Memory of a device, and a name of what holds it."""

    def __init__(self, device: int, size: int) -> None:
        self.device, self.size, self.holder = device, size, None
        HELD[device] += size

    def __del__(self) -> None:
        HELD[self.device] -= self.size


def cycle(device: int, size: int) -> None:
    block = Block(device, size)
    block.holder = block  # type: ignore[assignment]


@pytest.fixture
def cycles(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cycles]:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(HELD))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: HELD[device])
    thresholds = gc.get_threshold()
    gc.collect()
    gc.disable()
    cycles = Cycles()
    cycles.begin()
    yield cycles
    gc.enable()
    gc.set_threshold(*thresholds)


def test_the_most_of_one_collection_counts_and_what_is_freed_at_once_does_not(cycles: Cycles) -> None:
    Block(0, 1000)
    cycle(0, 8)
    cycle(0, 4)
    gc.collect()
    cycle(0, 5)
    cycle(1, 3)
    assert cycles.most() == [12, 3]
    cycle(0, 100)
    gc.collect()
    assert cycles._most == [12, 3], "it goes on after its end"


@pytest.mark.parametrize("threshold", [FREQUENT - 1, FREQUENT])
def test_a_collection_of_the_youngest_counts_where_it_is_rare(cycles: Cycles, threshold: int) -> None:
    gc.set_threshold(threshold)
    cycle(0, 8)
    gc.collect(0)
    assert cycles.most() == ([8, 0] if threshold == FREQUENT else [0, 0])
