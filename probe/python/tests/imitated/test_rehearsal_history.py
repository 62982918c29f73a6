"""The history of a rehearsal that goes on stays short: viewers look at it. That of the highest peak is not lost."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

from memtop.rehearsal.rehearsal import LONG, QUIET

STEPS = 5 * QUIET + 2
REHEARSED = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from memtop.rehearsal.rehearsal import begin
begin()
parameter = torch.nn.Parameter(torch.ones(1 << 18, device="cuda"))
optimizer = torch.optim.SGD([parameter], lr=0.1)
for step in range(int(sys.argv[2])):
    few = [torch.empty(1, device="cuda").device for _ in range(0 if step else int(sys.argv[3]))]
    size = 1 << (22 if step == 3 else 20)
    (parameter * torch.ones(size // 4, device="cuda")[: 1 << 18].sum()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_long_history_is_of_the_last_steps_and_a_file_has_that_of_the_peak(tmp_path: Path) -> None:
    assert len(histories(tmp_path / "short", requests=0)) == 1
    last, highest = histories(tmp_path / "long", LONG)
    assert 0 < len(last) < LONG
    largest = [max(event["size"] for event in trace if event["action"] == "alloc") for trace in (last, highest)]
    assert largest == [1 << 20, 1 << 22]


def histories(folder: Path, requests: int) -> list[list[dict[str, int | str]]]:
    """Return the history of each snapshot of a rehearsal, by the names of their files."""
    folder.mkdir()
    told = {"folder": str(folder), "steps": -1, "world": 0, "values": "zeros", "set": None, "again": False}
    told.update(survey=False, edit=None, arguments=[])
    environment = {**os.environ, "MEMTOP_REHEARSAL": json.dumps(told)}
    command = [sys.executable, "-c", REHEARSED, str(Path(__file__).parents[2]), str(STEPS), str(requests)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return [pickle.loads(path.read_bytes())["device_traces"][0] for path in sorted(folder.glob("*.snapshot"))]
