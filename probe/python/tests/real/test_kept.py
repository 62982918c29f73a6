"""Planted leaks are named by their line with true bytes soon after a viewer has come, whatever step made what is kept;
jobs that keep nothing are never said to leak. MEMTOP_BINARY is the path of memtop, MEMTOP_IMITATE that of the imitated
GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from memtop.graphs import READABLE  # noqa: E402

HERE = Path(__file__).parent
MEMTOP = os.environ.get("MEMTOP_BINARY") or os.environ.get("MEMTOP", "")
IMITATE = os.environ.get("MEMTOP_IMITATE", "")
KINDS = ("losses", "total", "exception", "cache", "hook", "closure", "seventh", "context")
CLEAN = ("gpt", "resnet", "gan", "average", "replay", "loader", "accumulated", "trainer")
BEFORE, STEPS, UNSEEN, LONG = 20, 60, 15, int(os.environ.get("MEMTOP_TEST_STEPS", "150"))
PATIENCE = 300.0

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP_BINARY, the path of memtop")]


class Job:
    """A job under memtop, and a recording of it."""

    def __init__(self, folder: Path, device: str, script: str, *arguments: str) -> None:
        if device == "cuda" and (not IMITATE or torch.version.cuda is None):
            pytest.skip("needs MEMTOP_IMITATE, and a PyTorch with CUDA")
        self.recording = folder / "run.mtr"
        self._environment = {**os.environ, "MEMTOP_DIR": str(folder / "sockets"), "OMP_NUM_THREADS": "1"}
        if device == "cpu":
            self._environment["CUDA_VISIBLE_DEVICES"] = ""
        (folder / "sockets").mkdir(mode=0o700)
        imitated = [IMITATE, "-gpu", "h100-80gb", "-gpus", "1", "--"] if device == "cuda" else []
        self.process = subprocess.Popen(
            [*imitated, MEMTOP, "run", "--", sys.executable, str(HERE / script), *arguments, device],
            env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def steps(self, number: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def said(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def pid(self) -> int:
        """Return the pid of the job's process, the only one with an agent in its folder."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            for path in Path(self._environment["MEMTOP_DIR"]).glob("[0-9]*.sock"):
                return int(path.name.split("-")[0].split(".")[0])
        raise AssertionError("there is no agent")

    def record(self, *options: str) -> subprocess.Popen[bytes]:
        """Begin to record, and wait until the recording has begun."""
        command = [MEMTOP, "record", str(self.pid()), "-o", str(self.recording), *options]
        recorder = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while not (self.recording.exists() and self.recording.stat().st_size):
            assert time.monotonic() < until and recorder.poll() is None
        return recorder

    def wait_for_recorder(self) -> None:
        """Wait until the recording has what the job has done so far: its stream says at least once a second that all
        before has been sent."""
        for _ in range(3):
            size, until = self.recording.stat().st_size, time.monotonic() + PATIENCE
            while self.recording.stat().st_size == size:
                assert time.monotonic() < until

    def leaks(self) -> list[dict[str, Any]]:
        """Return the findings of leaks in the recording."""
        said = subprocess.run([MEMTOP, "report", str(self.recording), "--json"], capture_output=True, check=True)
        device = json.loads(said.stdout)["devices"][0]
        return [finding for finding in device["findings"] if finding["kind"] == "leak"]

    def end(self) -> None:
        """Let the job end."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def growth_of(leak: dict[str, Any]) -> float:
    """Return the bytes per step that a finding says."""
    found = re.search(r"\+([\d.]+) (B|KiB|MiB) per step", leak["text"])
    return float(found[1]) * UNITS[found[2]] if found else 0.0


@pytest.fixture
def start(tmp_path: Path) -> Any:
    jobs: list[Job] = []

    def begin(*arguments: str) -> Job:
        jobs.append(Job(tmp_path, *arguments))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.kill()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_is_named_by_its_line_with_true_bytes(kind: str, device: str, start: Any) -> None:
    if kind in ("losses", "total", "context") and not READABLE:
        pytest.skip(f"PyTorch {torch.__version__} does not show what graphs keep")
    job = start(device, "kept_job.py", kind)
    job.steps(BEFORE)
    job.said()
    recorder = job.record()
    job.steps(STEPS)
    truth = job.said()
    job.wait_for_recorder()
    job.end()
    assert recorder.wait(timeout=PATIENCE) == 0
    leaks = job.leaks()
    place = f"kept_job.py:{truth['line']}"
    named = [leak for leak in leaks if place in leak["text"]]
    assert named, (truth, [leak["text"] for leak in leaks])
    largest = max(named, key=lambda leak: leak["bytes"])
    a_step = truth["kept"] / (BEFORE + STEPS)
    assert largest["bytes"] <= truth["kept"] * 1.05, (truth, largest)
    # What a step keeps that was not looked at any more, at the end, is not in it.
    assert largest["bytes"] >= (truth["kept"] - UNSEEN * a_step) * 0.95, (truth, largest)
    # A leak in some steps only is measured by fewer of them.
    assert growth_of(largest) == pytest.approx(a_step, rel=0.2 if kind == "seventh" else 0.05), (truth, largest)
    assert all(place in leak["text"] for leak in leaks), [leak["text"] for leak in leaks]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", CLEAN)
def test_a_job_that_keeps_nothing_is_not_said_to_leak(kind: str, device: str, start: Any) -> None:
    job = start(device, "clean_job.py", kind, str(LONG))
    job.said()
    recorder = job.record()
    job.steps(0)
    assert job.process.wait(timeout=PATIENCE + LONG) in (0, 77)
    assert recorder.wait(timeout=PATIENCE) == 0
    if job.process.returncode == 77:
        pytest.skip("needs a library")
    assert job.leaks() == []
