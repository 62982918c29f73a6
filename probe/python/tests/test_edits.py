"""Where an edit of a program would stand, and what executes there."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn import Linear, Sequential

from memtop.rehearsal import edits
from memtop.settings.blocks import blocks_of


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> list[edits.Place]:
    return begin(monkeypatch, survey=True)._places


def begin(monkeypatch: pytest.MonkeyPatch, **told: Any) -> edits.Edits:
    monkeypatch.setattr(torch.optim.Optimizer, "__init__", torch.optim.Optimizer.__init__)
    monkeypatch.setattr(edits, "told", lambda: {"survey": False, "edit": None, **told})
    made = edits.Edits()
    made.begin()
    return made


def optimizer_of(part: Any) -> Any:
    return torch.optim.SGD(part.parameters(), lr=1)


def next_line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno + 1


def test_it_stands_before_the_outermost_line_that_has_the_model(surveyed: list[edits.Place]) -> None:
    network = Linear(2, 2)
    line = next_line()
    optimizer_of(network)
    assert [(p.file, p.line, p.expression) for p in surveyed] == [(__file__, line, "network")]


def test_it_stands_before_the_whole_statement(surveyed: list[edits.Place]) -> None:
    network = Linear(2, 2)
    line = next_line()
    _ = [
        1,
        optimizer_of(
            network,
        ),
    ]
    assert [p.line for p in surveyed] == [line]


def test_the_model_may_be_an_attribute(surveyed: list[edits.Place]) -> None:
    trainer = SimpleNamespace(network=Linear(2, 2), optimizer=None)
    trainer.optimizer = optimizer_of(trainer.network)
    assert [p.expression for p in surveyed] == ["trainer.network"]


def test_of_a_model_and_its_wrapper_it_is_the_wrapper(surveyed: list[edits.Place]) -> None:
    network = Linear(2, 2)
    wrapper = Sequential(network)
    optimizer_of(network)
    assert [p.expression for p in surveyed] == ["wrapper"] and wrapper[0] is network


def test_without_a_variable_there_is_no_place(surveyed: list[edits.Place]) -> None:
    optimizer_of(Linear(2, 2))
    assert [p.expression for p in surveyed] == ["part"]  # of the function that makes the optimizer
    torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=1)
    assert len(surveyed) == 1


def test_lines_are_executed_where_they_would_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[str] = []
    monkeypatch.setattr(edits, "note", noted.append)
    network, other = Sequential(Linear(2, 2)), Sequential(Linear(2, 2))
    made = begin(monkeypatch, survey=True)
    for _ in range(2):
        optimizer_of(network)
        if made.survey:
            place = made._places[0]
            text = "for _each in network:\n    _each.forward = abs\n"
            made = begin(monkeypatch, edit={"file": place.file, "line": place.line, "text": text})
            optimizer_of(other)
            assert "forward" not in vars(network[0]) and not noted
    assert network[0].forward is abs and "forward" not in vars(other[0]) and noted == ["changed"]
    assert "_each" not in locals()


def test_an_edit_comes_before_the_arguments_of_an_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "note", lambda _: None)
    defaults = torch.optim.AdamW.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "fused", None)
    network, made = Linear(2, 2), begin(monkeypatch, survey=True)
    for _ in range(2):
        optimizer = torch.optim.AdamW(network.parameters())
        if made.survey:
            place = made._places[0]
            assert place.fused == "AdamW" and not optimizer.param_groups[0]["fused"]
            text = 'torch.optim.AdamW.__init__.__kwdefaults__["fused"] = True'
            made = begin(monkeypatch, edit={"file": place.file, "line": place.line, "text": text})
    assert optimizer.param_groups[0]["fused"]


class Stage(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Sequential(Linear(2, 2), torch.nn.ReLU())


class Named(torch.nn.Module):
    """Has its blocks as attributes, and stages that are containers: of blocks, and without."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.head = Stage(), Stage(), Linear(2, 2)
        self.layer1, self.layer2 = Sequential(Stage(), Stage()), Sequential(Linear(2, 2), torch.nn.ReLU())


def test_blocks_may_be_attributes_and_stages() -> None:
    model = Named()
    names = {id(part): name for name, part in model.named_modules()}
    assert [names[id(block)] for block, _ in blocks_of(model)] == ["down1", "down2", "layer1.0", "layer1.1", "layer2"]
