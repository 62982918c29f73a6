"""What a rehearsal changes in its program from the first step on."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any

import pytest
import torch

from memtop.rehearsal import trial as trials


class Watch:
    """An agent without settings."""

    class settings:
        values = staticmethod(dict)

    def want(self, wanted: bool) -> None:
        pass


@pytest.mark.parametrize(("chosen", "fused"), [({}, True), ({"foreach": True}, False), ({"fused": False}, True)])
def test_an_optimizer_is_fused_unless_it_has_chosen(
    monkeypatch: pytest.MonkeyPatch, chosen: dict[str, bool], fused: bool
) -> None:
    monkeypatch.setattr(trials, "told", lambda: {"changes": "fused=on"})
    monkeypatch.setattr(sys.modules["torch.optim.optimizer"], "_global_optimizer_pre_hooks", OrderedDict())
    trial, parameter = trials.Trial(), torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.Adam([parameter], **chosen)
    parameter.sum().backward()
    optimizer.step()
    trial.stepped(Watch())
    assert bool(optimizer.param_groups[0]["fused"]) == fused
    assert trial.pending != fused and bool(trial.refused) != fused


def test_buckets_are_viewed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    kind = torch.nn.parallel.DistributedDataParallel
    monkeypatch.setattr(kind, "__init__", lambda model, module, **named: made.append(named))
    monkeypatch.setattr(trials, "told", lambda: {"changes": "bucket_view=on"})
    trial = trials.Trial()
    kind(torch.nn.Linear(1, 1), gradient_as_bucket_view=False)
    trial.stepped(Watch())
    assert made == [{"gradient_as_bucket_view": True}] and not trial.pending and not trial.refused
