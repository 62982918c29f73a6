"""What keeps graphs of earlier steps is found by lifetimes, or is not known."""

from __future__ import annotations

import sys
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from test_watch import watch  # noqa: E402, F401

from memtop.watch.watch import Watch  # noqa: E402

STEPS = 8


def train(after: Callable[[Any], None]) -> None:
    """Train, and give what has a graph of its own to `after` in each step."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        after(model(torch.randn(4, 8)).sum())
        loss = model(torch.randn(4, 8)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del loss


def keepers(watch: Watch) -> dict[str, int]:  # noqa: F811
    """Return the bytes of saved tensors by what keeps them, of those that are two steps old."""
    found: dict[str, int] = {}
    for holding in watch.registry.holdings():
        if 0 < holding.saved_in < STEPS - 2 and holding.category in ("activation", "input"):
            found[holding.keeper] = found.get(holding.keeper, 0) + holding.size
    return found


def line_after(function: Any, lines: int = 1) -> str:
    return f"test_graphs.py:{function.__code__.co_firstlineno + lines}"


def test_a_list_of_results_keeps_their_graphs(watch: Watch) -> None:  # noqa: F811
    losses: list[Any] = []

    def keep(loss: Any) -> None:
        losses.append(loss)

    train(keep)
    assert list(keepers(watch)) == [f"after.losses[…] with its graph, {line_after(keep)}"]


def test_a_total_keeps_the_graphs_of_what_was_added(watch: Watch) -> None:  # noqa: F811
    total: Any = torch.zeros(())

    def keep(loss: Any) -> None:
        nonlocal total
        total = total + loss

    train(keep)
    [keeper] = keepers(watch)
    assert "total with its graph" in keeper and line_after(keep, 2) in keeper


def test_of_two_lists_that_may_keep_them_none_is_named(watch: Watch) -> None:  # noqa: F811
    losses: list[Any] = []
    copies: list[Any] = []

    def keep(loss: Any) -> None:
        losses.append(loss)
        copies.append(loss * 2)

    train(keep)
    assert list(keepers(watch)) == [""]


def test_a_list_that_has_nothing_of_a_step_does_not_keep_its_graph(watch: Watch) -> None:  # noqa: F811
    """What keeps the graphs is out of reach; a list of every third step's results is not said to."""
    seldom: list[Any] = []
    hidden: list[Any] = []
    deep = [[[[[[hidden]]]]]]
    count = iter(range(STEPS))

    def keep(loss: Any) -> None:
        deep[0][0][0][0][0][0].append(loss)
        if next(count) % 3 == 0:
            seldom.append(loss * 2)

    del hidden
    train(keep)
    assert not any("seldom" in keeper for keeper in keepers(watch))


def test_a_list_of_results_without_a_graph_keeps_none(watch: Watch) -> None:  # noqa: F811
    values: list[Any] = []

    def keep(loss: Any) -> None:
        values.append(loss.detach())

    train(keep)
    assert keepers(watch) == {} and sys.getrefcount(values) > 0
