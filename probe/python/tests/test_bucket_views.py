"""DistributedDataParallel with its buckets as gradients, in a rehearsal that asks for it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from memtop.rehearsal import bucket_views


@pytest.mark.parametrize("asked", [True, False])
def test_buckets_are_gradients_if_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, asked: bool) -> None:
    made: list[dict[str, Any]] = []
    noted: list[str] = []
    kind = torch.nn.parallel.DistributedDataParallel
    monkeypatch.setattr(kind, "__init__", lambda model, module, **named: made.append(named))
    monkeypatch.setattr(bucket_views, "told", lambda: {"bucket_view": asked})
    monkeypatch.setattr(bucket_views, "note", noted.append)
    bucket_views.begin()
    kind(torch.nn.Linear(1, 1), gradient_as_bucket_view=False)
    assert made == [{"gradient_as_bucket_view": asked}] and noted == ["changed"] * asked
