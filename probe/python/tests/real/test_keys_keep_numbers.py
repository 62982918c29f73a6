"""All settings on jobs of all kinds: the losses and the state are those of the job alone, to the bit, or the setting is
refused. See `pressed.py`.

A job with mixed precision is compared with one that its author runs under autocast in the same steps.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from counted import MISSING  # noqa: E402
from pressed import EFFECTS, STEPS  # noqa: E402
from programs import PROGRAMS, RANKS  # noqa: E402
from test_counted import command, why_not  # noqa: E402

PATIENCE = 900.0  # seconds for one program, on a busy machine
CHECKPOINT, AMP = ("checkpoint=all", "checkpoint=half"), ("amp",)
REFUSED = {  # the settings that a program cannot have
    "resnet": CHECKPOINT, "gan": CHECKPOINT, "generator": CHECKPOINT, "changed_global": CHECKPOINT,
    "closure": CHECKPOINT, "lightning": AMP, "server": (*CHECKPOINT, "amp=bf16"),
    "fsdp2": (*CHECKPOINT, "amp=bf16"), "tensor_parallel": (*CHECKPOINT, "amp=bf16"),
}  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("program", [*PROGRAMS, *RANKS, *EFFECTS])
def test_the_numbers_of_a_job_are_the_same_with_all_keys(program: str, tmp_path: Path) -> None:
    if reason := why_not(program, "cpu"):
        pytest.skip(reason)
    results = tmp_path / "results"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command("pressed.py", program, "cpu"), str(results)], env=environment, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    if done.returncode == MISSING:
        pytest.skip(f"needs a library: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = [json.loads(line) for line in results.read_text().splitlines()]
    assert len(ranks) == (2 if program in RANKS else 1)
    refused = REFUSED.get(program, ())
    for said in ranks:
        assert said["losses"] >= STEPS and said["state"] and said["error"] == "", said
        assert said["same losses"] and said["same state"], said
        assert set(said["refused"]) == set(refused), said
        for key, values in said["values"].items():
            kept = key == "action" or any(reason.startswith(key) for reason in refused)
            assert len(values) > 1 or kept, said
        assert len(said["values"]) == 4 or program == "server", said  # a server has no steps of an optimizer
