"""The ranks of a real torchrun job, compared by memtop.

MEMTOP is the path of a memtop that was built from this tree; without it the tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

MEMTOP = os.environ.get("MEMTOP", "")
PROGRAM = Path(__file__).with_name("uneven.py")

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP, the path of memtop")]


def sockets(folder: Path, launcher: subprocess.Popen[bytes]) -> list[str]:
    """Wait for the agents of two ranks that train, and return their sockets."""
    until = time.monotonic() + 120
    while time.monotonic() < until and launcher.poll() is None:
        found = [str(path) for path in folder.glob("[0-9]*.sock")]
        if len(found) == 2 and all("last_step" in asked(path) for path in found):
            return found
        time.sleep(0.05)
    raise AssertionError("there are no two agents")


def asked(path: str) -> dict[str, Any]:
    info = subprocess.run(["curl", "-s", "--unix-socket", path, "http://memtop/v1/info"], capture_output=True)
    return dict(json.loads(info.stdout or b"{}"))


def test_the_ranks_of_torchrun_are_one_job_and_the_one_with_more_samples_is_named(tmp_path: Path) -> None:
    environment = {**os.environ, "MEMTOP_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    tmp_path.chmod(0o700)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    launcher = subprocess.Popen([MEMTOP, "run", "--", *launch, str(PROGRAM), "100000"], env=environment)
    try:
        one = sockets(tmp_path, launcher)[0]
        printed = subprocess.run(
            [MEMTOP, "attach", one, "--all-ranks", "--once", "--json"], env=environment, capture_output=True, check=True
        )
    finally:
        launcher.terminate()
        launcher.wait(timeout=60)
    report = json.loads(printed.stdout)
    assert [(rank["rank"], rank["world"], rank["launcher"]) for rank in report["ranks"]] == [
        (0, 2, "torchrun"), (1, 2, "torchrun"),
    ]  # fmt: skip
    assert report["ranks"][0]["job"] == report["ranks"][1]["job"] != ""
    [uneven] = [finding for finding in report["findings"] if finding["kind"] == "uneven_memory"]
    assert uneven["ranks"] == [1] and "activation" in uneven["evidence"]
    assert uneven["bytes"] == report["ranks"][1]["peak_allocated_bytes"] - report["ranks"][0]["peak_allocated_bytes"]
