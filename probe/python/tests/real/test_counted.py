"""Whole programs, with and without the agent, on the processor and on the imitated GPU: see `counted.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from counted import MISSING  # noqa: E402
from programs import PROGRAMS, RANKS  # noqa: E402

HERE = Path(__file__).parent
PATIENCE = 300.0  # seconds for one program, on a busy machine
TORCHRUN = ("-m", "torch.distributed.run", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0")


def command(script: str, program: str, device: str) -> list[str]:
    ranks = 2 if program in RANKS else 1
    launcher = [*TORCHRUN, "--nproc-per-node", str(ranks)] if program in RANKS else []
    own = [sys.executable, *launcher, str(HERE / script), program, device]
    if device == "cpu":
        return own
    imitate = os.environ.get("MEMTOP_IMITATE")
    if not imitate:
        pytest.skip("needs the path of the imitated GPU's binary in MEMTOP_IMITATE: make agent-real")
    if torch.version.cuda is None:
        pytest.skip(f"PyTorch {torch.__version__} is built without CUDA")
    return [imitate, "-gpu", "h100-80gb", "-gpus", str(ranks), "--", *own]


def why_not(program: str, device: str) -> str:
    """Return why this version of PyTorch cannot run the program, "" if it can."""
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if program == "fsdp2" and (release < (2, 6) or (device == "cpu" and release < (2, 7))):
        return f"PyTorch {torch.__version__} has no FSDP2 for it"
    return ""


@pytest.mark.real
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("program", [*PROGRAMS, *RANKS])
def test_the_agent_says_what_the_program_counts(program: str, device: str, tmp_path: Path) -> None:
    if reason := why_not(program, device):
        pytest.skip(reason)
    results = tmp_path / "results"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MEMTOP_DEBUG_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    if device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run(
        [*command("counted.py", program, device), str(results)], env=environment, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    if done.returncode == MISSING:
        pytest.skip(f"needs a library: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    ranks: list[dict[str, Any]] = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted(said["rank"] for said in ranks) == list(range(2 if program in RANKS else 1))
    for said in ranks:
        assert all(said["counted"].values()), said
        gathered = said["counted"].get("forward", {}).get("gathered-parameter", 0)
        assert (gathered > 0) == (program == "fsdp2"), said
        assert {name: said[name] for name in ("differences", "missing", "foreign", "error")} == {
            "differences": {}, "missing": {}, "foreign": {}, "error": "",
        }, said  # fmt: skip
