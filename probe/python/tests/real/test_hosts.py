"""A job does not notice what becomes of its host: killed at any moment, or standing still. MEMTOP_BINARY is the path of
memtop, MEMTOP_TEST_KILLS says how often the host is killed, and MEMTOP_TEST_STILL for how many seconds it stands."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from begun import HERE, Begun  # noqa: E402
from recording import MEMTOP  # noqa: E402

KILLS = int(os.environ.get("MEMTOP_TEST_KILLS", "4"))
STILL = float(os.environ.get("MEMTOP_TEST_STILL", "2"))

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP_BINARY, the path of memtop")]


class Hosted:
    """A job that says its losses, and its host."""

    def __init__(self, folder: Path) -> None:
        self.job = Begun(folder, "cpu", "hosted_job.py")
        self.losses: list[str] = []
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()  # a job whose lines nobody reads would stand still

    def _read(self) -> None:
        assert self.job.process.stdout
        for line in self.job.process.stdout:
            with self._came:
                self.losses.append(line.strip())
                self._came.notify()

    def steps(self, more: int) -> None:
        """Wait for some steps."""
        with self._came:
            until = len(self.losses) + more
            assert self._came.wait_for(lambda: len(self.losses) >= until, 60), "the job makes no steps"

    def host(self) -> int:
        """Return the pid of its host: a process of memtop that has the job's folder of sockets, and is not the job."""
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = Path("/proc", entry, "cmdline").read_bytes()
                environment = Path("/proc", entry, "environ").read_bytes()
            except OSError:
                continue
            if command.startswith(b"memtop-") and f"MEMTOP_DIR={self.job.sockets}\0".encode() in environment:
                return int(entry)
        raise AssertionError("there is no host")

    def attach(self) -> None:
        """Have a viewer come, for whom a new host is brought if the last one has gone."""
        command = [MEMTOP, "attach", "--once", "--inject", "always", str(self.job.process.pid)]
        done = subprocess.run(command, env=self.job.environment, capture_output=True, text=True)
        assert done.returncode == 0 and "step" in done.stdout, done.stdout + done.stderr

    def end(self) -> list[str]:
        """End the job, and return the losses of all steps."""
        assert self.job.process.stdin
        self.job.process.stdin.close()
        assert self.job.process.wait(60) == 0
        self._reader.join(60)
        return self.losses


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path)
    hosted.steps(1)
    yield hosted
    hosted.job.kill()


def losses_alone(steps: int) -> list[str]:
    """Return the losses of as many steps without memtop."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "hosted_job.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as job:  # fmt: skip
        assert job.stdout
        found = [job.stdout.readline().strip() for _ in range(steps)]
        job.kill()
    return found


def test_a_host_that_is_killed_at_any_moment_is_not_noticed(hosted: Hosted) -> None:
    random.seed(7)
    for _ in range(KILLS):
        hosted.attach()
        hosted.steps(random.randrange(1, 60))
        os.kill(hosted.host(), signal.SIGKILL)
        hosted.steps(random.randrange(1, 60))
    hosted.attach()
    losses = hosted.end()
    assert losses == losses_alone(len(losses))


def test_a_host_that_stands_still_is_not_waited_for(hosted: Hosted) -> None:
    hosted.attach()
    host = hosted.host()
    os.kill(host, signal.SIGSTOP)
    until = time.monotonic() + STILL
    while time.monotonic() < until:
        hosted.steps(20)
    os.kill(host, signal.SIGCONT)
    hosted.steps(20)
    hosted.attach()
    losses = hosted.end()
    assert losses == losses_alone(len(losses))
