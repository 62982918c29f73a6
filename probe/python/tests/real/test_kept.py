"""Planted leaks are named by their line with true bytes soon after a viewer has come, whatever step made what is kept;
jobs that keep nothing are never said to leak. MEMTOP_BINARY is the path of memtop, MEMTOP_IMITATE that of the imitated
GPU."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from begun import Begun, starting  # noqa: E402
from programs import RANKS  # noqa: E402
from recording import MEMTOP, PATIENCE, Recording  # noqa: E402
from test_counted import why_not  # noqa: E402

KINDS = ("losses", "total", "exception", "cache", "hook", "closure", "seventh", "context")
CLEAN = (
    "lengths", "validated", "average", "replay", "loader", "accumulated", "gan", "ddp", "fsdp2", "gpt", "resnet",
    "trainer", "workers", "alone", "texts", "saved", "mapped", "compiled",
    "exported", "reserved", "scattered",
)  # fmt: skip
BEFORE, STEPS, LONG = 20, 60, int(os.environ.get("MEMTOP_TEST_STEPS", "2000"))
POLLS = 20  # moments at which a recording of a clean job is judged

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP_BINARY, the path of memtop")]


class Job(Begun):
    """A job that makes steps when it is told to, and its recordings."""

    def __init__(self, folder: Path, device: str, ranks: int, *script: str) -> None:
        super().__init__(folder, device, *script, ranks=ranks)
        self.recordings: list[Recording] = []

    def steps(self, number: int) -> dict[str, Any]:
        """Let the job make so many steps, and return what it says after them."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def until_there(self, pattern: str, where: Path, number: int = 1) -> list[Path]:
        """Wait until a folder has so many files."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            if len(found := sorted(where.glob(pattern))) == number:
                return found
            time.sleep(0.02)  # a file that appears cannot be waited for
        raise AssertionError(f"there are no {pattern}")

    def record(self, pid: int) -> Recording:
        self.recordings.append(Recording(pid, self.folder / f"{pid}.mtr", self.environment))
        return self.recordings[-1]

    def end(self) -> None:
        """Let the job end."""
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE + LONG)
        if code == 77:
            pytest.skip("needs a library")
        assert code == 0
        for recording in self.recordings:
            recording.end()

    def kill(self) -> None:
        super().kill()
        for recording in self.recordings:
            recording.kill()


start = starting(Job)
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def growth_of(leak: dict[str, Any]) -> float:
    """Return the bytes per step that a finding says."""
    found = re.search(r"\+([\d.]+) (B|KiB|MiB) per step", leak["text"])
    return float(found[1]) * UNITS[found[2]] if found else 0.0


def known_since(recording: Recording, place: str) -> int:
    """Return the last measured step of the shortest part of the recording, of 16, in which the leak is found."""
    size = recording.path.stat().st_size
    for part in range(1, 17):
        events, leaks = recording.leaks(size * part // 16)
        if any(place in leak["text"] for leak in leaks):
            return recording.measured(events)[-1]
    raise AssertionError("the whole recording has it")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_is_named_by_its_line_with_true_bytes(kind: str, device: str, start: Any) -> None:
    job = start(device, 1, "kept_job.py", kind)
    job.steps(BEFORE)
    [socket] = job.until_there("[0-9]*.sock", job.sockets)
    recording = job.record(int(re.split(r"\D", socket.name)[0]))
    truth = job.steps(STEPS)
    recording.wait_for_news()
    job.end()
    place, kept = f"kept_job.py:{truth['line']}", truth["kept"]
    _, leaks = recording.leaks()
    texts = [leak["text"] for leak in leaks]
    named = [leak for leak in leaks if place in leak["text"]]
    assert named, (truth, texts)
    largest = max(named, key=lambda leak: leak["bytes"])
    last = recording.measured(largest["event"] + 1)[-1]
    print(f"\n{kind} {device}: said {largest['bytes']} kept {kept[last]} after {last}", end=", ")
    print(f"known after {known_since(recording, place) - BEFORE} steps")
    rate = kept[-1] / (len(kept) - 1)
    if kind in ("losses", "total", "context"):  # only the steps that are looked at show what graphs keep
        assert 0 < largest["bytes"] <= 1.05 * kept[last] and growth_of(largest) <= 1.05 * rate, largest
        assert "at least" in largest["text"], largest
    else:
        assert largest["bytes"] == pytest.approx(kept[last], rel=0.05), largest
        # A leak in some steps only is measured by fewer of them.
        assert growth_of(largest) == pytest.approx(rate, rel=0.2 if kind == "seventh" else 0.05), largest
        assert all(place in text for text in texts), texts


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", CLEAN)
def test_a_job_that_keeps_nothing_is_not_said_to_leak(kind: str, device: str, start: Any, tmp_path: Path) -> None:
    if reason := why_not(kind, device):
        pytest.skip(reason)
    ready = tmp_path / "ready"
    ready.mkdir()
    ranks = 2 if kind in RANKS else 1
    job = start(device, ranks, "clean_job.py", kind, str(LONG), str(ready))
    for file in job.until_there("[0-9]*", ready, ranks):
        job.record(int(file.name))
    (ready / "go").touch()
    job.end()
    for recording in job.recordings:
        size, steps = recording.path.stat().st_size, recording.measured()
        # A look costs more where memory is on a device, and more than it should beside other programs.
        assert len(steps) >= 6 and steps[-1] > LONG * (0.75 if device == "cpu" else 0.5), steps
        for poll in range(1, POLLS + 1):
            _, found = recording.leaks(size * poll // POLLS, ("leak", "host_growth"))
            # What fills in the first steps, such as a cache or a mean, is rightly said to grow until it is full.
            verdicts = [each for each in found if each["severity"] == "problem" or poll == POLLS]
            assert verdicts == [], (poll, verdicts)
        print(f"\n{kind} {device}: {len(steps)} of {steps[-1]} steps measured, {POLLS} times no verdict")
