"""Jobs that run under memtop: they end as they do without it.

MEMTOP is the path of a memtop that was built from this tree; without it the tests are skipped.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

MEMTOP = os.environ.get("MEMTOP", "")
TIMES = int(os.environ.get("MEMTOP_TEST_ATTACHES", "3"))
JOB = Path(__file__).with_name("job.py")
CHILDREN = Path(__file__).with_name("children.py")

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP, the path of memtop")]


class Job:
    """A job under `memtop run`, in a folder of its own."""

    def __init__(self, folder: Path, *arguments: str, program: Path = JOB) -> None:
        self.folder = folder
        self.environment = {**os.environ, "MEMTOP_DIR": str(folder / "sockets"), "OMP_NUM_THREADS": "1"}
        (folder / "sockets").mkdir(mode=0o700, exist_ok=True)
        command = [MEMTOP, "run", "--", sys.executable, str(program), *arguments]
        self._written = folder / "output", folder / "errors"  # files, which never block the job
        with open(self._written[0], "wb") as output, open(self._written[1], "wb") as errors:
            self.process = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.PIPE, stdout=output, stderr=errors
            )

    def memtop(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [MEMTOP, *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def socket(self) -> str:
        """Wait for the agent, and return its socket's path."""
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None:
            for path in (self.folder / "sockets").glob(f"{self.process.pid}-*.sock"):
                return str(path)
            time.sleep(0.01)
        self.process.kill()
        raise AssertionError(f"there was no agent: {self.end()}")

    def begin(self) -> None:
        """Start a job, which waits for a line."""
        assert self.process.stdin
        self.process.stdin.write(b"\n")
        self.process.stdin.close()

    def wait_for_step(self) -> None:
        """Wait until a step has ended."""
        while not self._written[0].stat().st_size and self.process.poll() is None:
            time.sleep(0.01)

    def end(self) -> tuple[int, str, str]:
        """Wait for the end. Return the exit status and the output."""
        try:
            status = self.process.wait(timeout=600)
        except subprocess.TimeoutExpired:
            last = self._written[0].read_text()[-200:]
            raise AssertionError(f"it goes on: {last!r}, and said {self._written[1].read_text()!r}") from None
        return status, self._written[0].read_text(), self._written[1].read_text()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def alone(folder: Path, *arguments: str, program: Path = JOB) -> tuple[int, str, str]:
    """Run a job without an agent."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MEMTOP_DIR": str(folder)}
    command = [sys.executable, str(program), *arguments]
    ended = subprocess.run(command, input="\n", capture_output=True, text=True, env=environment)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    jobs: list[Job] = []

    def begin(*arguments: str, **options: Path) -> Job:
        jobs.append(Job(tmp_path, *arguments, **options))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.close()


def test_viewers_come_and_go_and_are_killed_and_the_job_does_not_notice(run: Any, tmp_path: Path) -> None:
    steps = 400
    expected = alone(tmp_path, "--steps", str(steps))
    job = run("--steps", str(steps), "--pause", "0.02")
    socket = job.socket()
    for turn in range(TIMES):
        viewer = job.memtop("record", socket, "-o", str(job.folder / f"{turn}.mtr"))
        time.sleep(0.01 * (turn % 20))  # at any moment of its life
        viewer.kill() if turn % 2 else viewer.terminate()
        viewer.communicate()
        assert job.process.poll() is None or turn > steps // 40
    assert job.end() == expected


SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

# The messages of a viewer whose program ends, by exit status: it has ended, or its agent has stopped just before.
ENDS = {
    0: rb"wrote [^\n]*; the process has ended; this is its last state\n",
    3: rb"memtop: there is no process \d+; memtop ls lists what can be attached to\n",
    5: rb"memtop: process \d+ (is a PyTorch program, which has no agent|has no probe)[^\n]*\n",
}


def test_a_job_that_is_killed_ends_as_without_an_agent(run: Any, tmp_path: Path) -> None:
    steps = alone(tmp_path, "--steps", "2000")[1]
    moments = random.Random(1)
    for turn in range(TIMES):
        number = SIGNALS[turn % len(SIGNALS)]
        job = run("--steps", "1000000")
        job.socket()
        viewer = job.memtop("record", str(job.process.pid), "-o", str(job.folder / f"{turn}.mtr"))
        if turn // len(SIGNALS) % 4:  # jobs that train; the others are only starting
            job.wait_for_step()
        time.sleep(moments.uniform(0, 1))
        job.process.send_signal(number)
        status, output, errors = job.end()
        assert status == -number
        assert steps.startswith(output)
        trace = r"Traceback [^\n]*\n( [^\n]*\n)+KeyboardInterrupt\n" if number == signal.SIGINT else ""
        assert re.fullmatch(trace, errors), errors
        said, _ = viewer.communicate(timeout=60)
        assert re.fullmatch(ENDS.get(viewer.returncode, b""), said), (viewer.returncode, said)
        listed, _ = job.memtop("ls", "--json").communicate(timeout=60)
        assert f'"pid": {job.process.pid},' not in listed.decode()
    assert len(list((job.folder / "sockets").iterdir())) <= 1, "each agent removes what the one before it left"


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "loader"])
def test_children_of_a_watched_job_have_no_agent_and_do_as_without(way: str, run: Any, tmp_path: Path) -> None:
    job = run(way, program=CHILDREN)
    file = tmp_path / "run.mtr"
    viewer = job.memtop("record", job.socket(), "-o", str(file))
    while not (file.exists() and file.stat().st_size) and viewer.poll() is None:
        time.sleep(0.01)
    job.begin()
    ended = job.end()
    said, _ = viewer.communicate(timeout=60)
    assert viewer.returncode == 0 and re.fullmatch(ENDS[0], said), said
    assert ended == alone(tmp_path, way, program=CHILDREN)
    assert ended[0] == 0 and " [] [] 0\n" in ended[1]
