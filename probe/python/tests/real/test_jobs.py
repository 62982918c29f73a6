"""Jobs that run under memtop: what it says of their mistakes, and that they end as without it.

MEMTOP is the path of a memtop that was built from this tree; without it the tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from subjects import SUBJECTS

MEMTOP = os.environ.get("MEMTOP", "")
TIMES = int(os.environ.get("MEMTOP_TEST_ATTACHES", "3"))
JOB = Path(__file__).with_name("job.py")
LEAKS = ("loss", "output", "cache", "closure")

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP, the path of memtop")]


class Job:
    """A job under `memtop run`, in a folder of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "MEMTOP_DIR": str(folder / "sockets"), "OMP_NUM_THREADS": "1"}
        (folder / "sockets").mkdir(mode=0o700)
        command = [MEMTOP, "run", "--", sys.executable, str(JOB), *arguments]
        self.process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def memtop(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [MEMTOP, *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def socket(self) -> str:
        """Wait for the agent, and return its socket's path."""
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None:
            for path in (self.folder / "sockets").glob("[0-9]*.sock"):
                return str(path)
            time.sleep(0.01)
        raise AssertionError(f"there was no agent: {self.process.communicate()}")

    def record(self, steps: int) -> dict[str, Any]:
        """Record steps, and return the report on them."""
        file = self.folder / "run.mtr"
        recorded = self.memtop("record", self.socket(), "-o", str(file), "--steps", str(steps))
        output, _ = recorded.communicate(timeout=600)
        assert recorded.returncode == 0, output
        report, _ = self.memtop("report", str(file), "--json").communicate(timeout=120)
        return json.loads(report)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    jobs: list[Job] = []

    def begin(*arguments: str) -> Job:
        jobs.append(Job(tmp_path, *arguments))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.close()


def leaks_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in report["devices"][0]["findings"] if finding["kind"] == "leak"]


@pytest.mark.parametrize("subject", ["gpt", "llama_with_labels"])
@pytest.mark.parametrize("kind", LEAKS)
def test_a_leak_is_named_by_its_line_within_20_steps(kind: str, subject: str, run: Any) -> None:
    job = run(subject, "--leak", kind, "--steps", "100000", "--pause", "0.05")
    leaks = leaks_of(job.record(20))
    # Of a copy that no layer made, the line that keeps it; of what a model returned, the line that called the model.
    keeping = next(number for number, text in enumerate(JOB.read_text().splitlines(), 1) if f"# leak: {kind}" in text)
    texts = [text for leak in leaks for text in (leak["text"], *leak["where"])]
    place = f"job.py:{keeping}" if kind in ("output", "cache") else "subjects.py:"
    assert any(place in text for text in texts), leaks


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_leak_is_found_in_1000_steps_of_a_model_that_has_none(subject: str, run: Any) -> None:
    assert leaks_of(run(subject, "--steps", "1000000").record(1000)) == []


def test_viewers_come_and_go_and_are_killed_and_the_job_does_not_notice(run: Any) -> None:
    steps = 400
    alone = subprocess.run(
        [sys.executable, str(JOB), "gpt", "--steps", str(steps)],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    job = run("gpt", "--steps", str(steps), "--pause", "0.02")
    socket = job.socket()
    for turn in range(TIMES):
        viewer = job.memtop("record", socket, "-o", str(job.folder / f"{turn}.mtr"))
        time.sleep(0.01 * (turn % 20))  # at any moment of its life
        viewer.kill() if turn % 2 else viewer.terminate()
        viewer.communicate()
        assert job.process.poll() is None or turn > steps // 40
    output, errors = job.process.communicate(timeout=600)
    assert (job.process.returncode, output, errors) == (alone.returncode, alone.stdout, alone.stderr)
