"""Jobs that are killed at any moment: their black boxes have what the jobs said last.

MEMTOP_BINARY is the path of a memtop that was built from this tree, MEMTOP_IMITATE that of the imitated GPU; without
them the tests are skipped. MEMTOP_TEST_KILLS says how often each kind of job is killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from groups import limited  # noqa: E402
from hosted import MEMTOP, host_of  # noqa: E402

IMITATE = os.environ.get("MEMTOP_IMITATE", "")
KILLS = int(os.environ.get("MEMTOP_TEST_KILLS", "3"))
NOTING = 1.0  # seconds from one noted step to the next, at most; usually a tenth of it
FULL = ("out of host memory", "killed, host memory full")
BOXED = Path(__file__).with_name("boxed.py")

pytestmark = pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP_BINARY, the path of memtop")


class Jobs:
    """Jobs that begin one after the other."""

    def __init__(self, folder: Path, device: str, way: str = "train", group: str = "", **more: str) -> None:
        self.said, self.boxes = folder / "said", folder / "boxes"
        self.said.mkdir()
        self.boxes.mkdir(mode=0o700)
        self.environment = {
            **os.environ, "MEMTOP_DIR": str(folder / "s"), "MEMTOP_BLACK_BOX": str(self.boxes), "OMP_NUM_THREADS": "1",
            **more,
        }  # fmt: skip
        self.environment["MEMTOP_HOST"] = host_of(self.environment)
        imitated = [IMITATE, "-gpu", "h100-80gb", "-gpus", "1", "--"] if device == "cuda" else []
        self.process = subprocess.Popen(
            [*imitated, sys.executable, str(BOXED), device, str(self.said), way],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=(lambda: Path(group, "cgroup.procs").write_text(str(os.getpid())) and None) if group else None,
        )  # fmt: skip
        assert self.process.stdin and self.process.stdout
        self.orders, self.answers = self.process.stdin, self.process.stdout

    def begin(self) -> int:
        """Start a job, and return its pid."""
        self.orders.write("\n")
        self.orders.flush()
        return int(self.answers.readline())

    def ended(self) -> int:
        """Wait until the job has ended, and return its status."""
        return int(self.answers.readline())

    def lines(self, pid: int) -> list[tuple[int, int, int, float]]:
        """Return what the job said after each step."""
        path = self.said / str(pid)
        text = path.read_text() if path.exists() else ""
        rows = [line.split() for line in text.split("\n")[:-1]]  # the last line may be half written
        return [(int(step), int(held), int(reserved), float(at)) for step, held, reserved, at in rows]

    def await_steps(self, pid: int, steps: int) -> None:
        until = time.monotonic() + 120
        while len(self.lines(pid)) < steps:
            assert time.monotonic() < until and self.process.poll() is None, "the job makes no steps"
            time.sleep(0.005)

    def memtop(self, *arguments: str) -> str:
        done = subprocess.run([MEMTOP, *arguments], env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for word in ("damaged", "contradict", "may be wrong", "not whole"):
            assert word not in done.stdout + done.stderr, done.stdout + done.stderr
        return done.stdout

    def dead(self, pid: int) -> Any:
        """Return the row of `memtop ls --dead` for an ended job."""
        until, rows = time.monotonic() + 20, []
        while not rows and time.monotonic() < until:  # its host writes the last words
            rows = [row for row in json.loads(self.memtop("ls", "--dead", "--json")) if row["pid"] == pid]
        (row,) = rows
        assert "problem" not in row and row["ended"] in ("killed or crashed", *FULL), row
        return row

    def left(self) -> list[str]:
        return sorted(os.listdir(self.boxes))

    def close(self) -> None:
        self.orders.close()
        self.process.kill()
        self.process.wait()
        self.answers.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_killed_job_is_listed_as_it_was(folder: Path, device: str) -> None:
    if device == "cuda" and (not IMITATE or torch.version.cuda is None):
        pytest.skip("needs MEMTOP_IMITATE, and a PyTorch with CUDA")
    jobs = Jobs(folder, device, "leak" if device == "cuda" else "train")
    chance = random.Random(1)
    try:
        for _ in range(KILLS):
            pid = jobs.begin()
            jobs.await_steps(pid, 1)
            time.sleep(chance.random())  # the moment is any
            os.kill(pid, signal.SIGKILL)
            assert jobs.ended() == signal.SIGKILL
            check(jobs, pid, device)
    finally:
        jobs.close()


def check(jobs: Jobs, pid: int, device: str) -> None:
    """Compare a killed job's box with what the job said last."""
    said, row = jobs.lines(pid), jobs.dead(pid)
    lines = [(0, 0, 0, said[0][3]), *said]  # it may have been killed before its host heard of a step
    step, held, reserved, at = lines[min(row["step"], len(said))]
    assert row["step"] in (step, len(lines))  # or before it said the last one
    if row["step"] == step > 0:
        assert (row["allocated_bytes"], row["reserved_bytes"]) == (held, reserved)
    slowest = max((b[3] - a[3] for a, b in zip(lines, lines[1:])), default=0.0)
    assert lines[-1][3] - at <= NOTING + slowest
    shown = jobs.memtop("report", row["file"])
    assert "Killed or crashed" in shown and "parameter" in shown
    os.unlink(row["file"])


@pytest.mark.parametrize("way", ["end", "raise"])
def test_a_job_that_ends_by_itself_leaves_nothing(folder: Path, way: str) -> None:
    jobs = Jobs(folder, "cpu", way)
    try:
        pid = jobs.begin()
        jobs.ended()
        assert len(jobs.lines(pid)) == 10 and jobs.left() == []
    finally:
        jobs.close()


@pytest.mark.parametrize("way", ["fork", "spawn"])
@pytest.mark.parametrize("end", ["end", "kill"])
def test_children_and_workers_leave_the_box_alone(folder: Path, way: str, end: str) -> None:
    boxes = folder / "boxes"
    boxes.mkdir(mode=0o700)
    environment = {
        **os.environ, "MEMTOP_DIR": str(folder / "s"), "MEMTOP_BLACK_BOX": str(boxes), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [MEMTOP, "run", "--", sys.executable, str(BOXED.with_name("boxed_children.py")), way, end]
    job = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    said, _ = job.communicate(timeout=240)
    assert "child 0" in said and said.count(f"{job.pid} 8") == 1, said
    assert job.returncode == (-signal.SIGKILL if end == "kill" else 0)
    assert [name.split("-")[0] for name in os.listdir(boxes)] == ([str(job.pid)] if end == "kill" else [])
    if end == "kill":
        listed = subprocess.run([MEMTOP, "ls", "--dead", "--json"], env=environment, capture_output=True, text=True)
        (row,) = json.loads(listed.stdout)
        assert row["pid"] == job.pid and 1 <= row["step"] <= 8 and "problem" not in row


def test_a_job_that_the_kernel_kills_for_lack_of_memory_says_which_line_had_it(folder: Path) -> None:
    with limited(900 << 20) as group:
        jobs = Jobs(folder, "cpu", "leak", group)
        try:
            pid = jobs.begin()
            assert jobs.ended() == signal.SIGKILL
            lines, row = jobs.lines(pid), jobs.dead(pid)
            shown = jobs.memtop("report", row["file"])
        finally:
            jobs.close()
    assert row["ended"] in FULL
    assert lines[-1][1] > 100 << 20  # it had leaked
    noted = max(held for _, held, _, at in lines if at < lines[-1][3] - NOTING)
    assert noted <= row["allocated_bytes"] <= lines[-1][1]
    assert f"boxed.py:{line_of('kept.append')}" in shown
    words = " ".join(shown.split())
    assert "of the 900.0 MiB of its control group were left" in words


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(BOXED.read_text().splitlines(), 1) if text in line)
