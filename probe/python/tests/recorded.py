"""Snapshots of real programs, in a folder beside the project, and the numbers known about them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(os.environ.get("MEMTOP_SNAPSHOTS", Path(__file__).parents[3] / ".." / "shared" / "snapshots"))
SHORT = "python_frames_only.torch2.10.pickle"

needs_recorded = pytest.mark.skipif(not (RECORDED / SHORT).is_file(), reason=f"no recorded snapshots in {RECORDED}")


def expected() -> list[Any]:
    """Return the file's name and its first device's numbers, of each snapshot that has a history."""
    if not (RECORDED / "expected.jsonl").is_file():
        return []
    lines = [json.loads(line) for line in (RECORDED / "expected.jsonl").read_text().splitlines()]
    files = [(line["file"], line["devices"][0]) for line in lines if line["file"].endswith("pickle")]
    return [pytest.param(file, device, id=file) for file, device in files if device["events"] > 50]
