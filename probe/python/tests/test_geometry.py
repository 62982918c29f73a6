"""The allocator's geometry, by the vectors that test memtop's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtop.memory.geometry import Geometry

FILE = Path(__file__).resolve().parents[3] / "snapshots" / "trace" / "testdata" / "geometry.json"
VECTORS = [v for v in json.loads(FILE.read_text()) if "allocator" not in v["settings"]]  # the agent needs PyTorch's


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_the_geometry_is_that_of_the_vectors(vector: dict[str, Any]) -> None:
    geometry = Geometry(vector["settings"])
    rules = {
        "round": geometry.round, "segment": geometry.segment_size, "driver": geometry.driver_request,
        "page": geometry.page, "cuts": geometry.cuts,
    }  # fmt: skip
    wrong = []
    for name, rule in rules.items():
        for *given, want in vector.get(name, []):
            if rule(*given) != want:
                wrong.append((name, given, want, rule(*given)))
    assert not wrong
