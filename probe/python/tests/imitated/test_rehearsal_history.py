"""The history of a rehearsal that goes on stays short: viewers look at it. That of the highest peak is not lost."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

from memtop.rehearsal.rehearsal import QUIET

STEPS = 5 * QUIET + 2
REHEARSED = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from memtop.rehearsal.rehearsal import begin
begin()
parameter = torch.nn.Parameter(torch.ones(1 << 18, device="cuda"))
optimizer = torch.optim.SGD([parameter], lr=0.1)
for step in range(int(sys.argv[2])):
    size = 1 << (22 if step == 3 else 20)
    (parameter * torch.ones(size // 4, device="cuda")[: 1 << 18].sum()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_its_history_is_of_the_last_steps_and_a_file_has_that_of_the_peak(tmp_path: Path) -> None:
    told = {
        "folder": str(tmp_path),
        "steps": -1,
        "world": 0,
        "changes": "",
        "values": "zeros",
        "set": None,
        "again": False,
    }
    environment = {"MEMTOP_REHEARSAL": json.dumps(told)}
    rehearse(environment, 2)
    [short] = histories(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    rehearse(environment, STEPS)
    last, highest = histories(tmp_path)
    assert 0 < len(last) < len(short) * QUIET / 2
    largest = [max(event["size"] for event in trace if event["action"] == "alloc") for trace in (last, highest)]
    assert largest == [1 << 20, 1 << 22]


def rehearse(environment: dict[str, str], steps: int) -> None:
    command = [sys.executable, "-c", REHEARSED, str(Path(__file__).parents[2]), str(steps)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def histories(folder: Path) -> list[list[dict[str, int | str]]]:
    """Return the history of each snapshot, by the names of their files."""
    return [pickle.loads(path.read_bytes())["device_traces"][0] for path in sorted(folder.glob("*.snapshot"))]
