"""Calls of PyTorch's with other arguments, in a rehearsal that asks for them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.distributed import fsdp

from memtop.rehearsal import call_arguments


@pytest.mark.parametrize("asked", [True, False])
def test_calls_get_other_arguments_if_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, asked: bool) -> None:
    made: list[dict[str, Any]] = []
    noted: list[str] = []
    kind: Any = torch.nn.parallel.DistributedDataParallel
    monkeypatch.setattr(kind, "__init__", lambda model, module, **named: made.append(named))
    monkeypatch.setattr(fsdp, "fully_shard", lambda module, **named: made.append(named))
    names = [call_arguments.BUCKET_VIEWS, call_arguments.RESHARDED]
    monkeypatch.setattr(call_arguments, "told", lambda: {"arguments": names if asked else []})
    monkeypatch.setattr(call_arguments, "note", noted.append)
    call_arguments.begin()
    kind(torch.nn.Linear(1, 1), gradient_as_bucket_view=False)
    fsdp.fully_shard(torch.nn.Linear(1, 1), reshard_after_forward=False)
    fsdp.fully_shard(torch.nn.Linear(1, 1), reshard_after_forward=2)
    kept = {} if asked else {"reshard_after_forward": False}
    assert made == [{"gradient_as_bucket_view": asked}, kept, {"reshard_after_forward": 2}]
    assert noted == ["changed"] * 2 * asked
