"""A recorded training, and snapshots of real programs in a folder beside the project, with what is known of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[3]
SHORT = PROJECT / "cmd" / "memtop" / "testdata" / "tiny_training.pickle"  # 772 events, of which one fails
RECORDED = Path(os.environ.get("MEMTOP_SNAPSHOTS", PROJECT / ".." / "shared" / "snapshots"))


def expected() -> list[Any]:
    """Return the file's name and its first device's numbers, of each snapshot that has a history."""
    if not (RECORDED / "expected.jsonl").is_file():
        return []
    lines = [json.loads(line) for line in (RECORDED / "expected.jsonl").read_text().splitlines()]
    files = [(line["file"], line["devices"][0]) for line in lines if line["file"].endswith("pickle")]
    return [pytest.param(file, device, id=file) for file, device in files if device["events"] > 50]
