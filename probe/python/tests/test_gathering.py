"""Scans of a program, also of one that is just being set up by another thread, and what they leave."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402

from memtop.watch.watch import Watch  # noqa: E402


def test_a_scan_passes_over_what_is_not_finished() -> None:
    halves: list[Any] = [cls.__new__(cls) for cls in (torch.nn.Linear, torch.nn.Sequential, torch.optim.AdamW)]
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = Watch(Kept())
    try:
        watch.look.gathering.scan()
        known = {h.address: h.category for h in watch.registry.holdings()}
        assert known[model.weight.untyped_storage().data_ptr()] == "parameter"
    finally:
        watch.close()
    assert len(halves) == 3 and optimizer.state == {}


def test_a_scan_keeps_no_class_of_the_program() -> None:
    kinds = [type("Own", (), {}), type("OwnCache", (), {})]
    gone = [weakref.ref(kind) for kind in kinds]
    watch = Watch(Kept())
    try:
        watch.look.gathering.scan()
        kinds.clear()
        gc.collect()
        assert [kind() for kind in gone] == [None, None]
    finally:
        watch.close()
