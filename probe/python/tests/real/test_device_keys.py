"""The settings of a job on the imitated GPU: each change is measured soon, as predicted, and undone to the byte.

Undone to the byte are the bytes that a step asks for. Its blocks differ even between equal steps: the allocator leaves
the rest of a free block on a block if it is too small to be cut off, and which free block it finds depends on the steps
before.

MEMTOP_IMITATE names the program that runs another one on the imitated GPU (`go build ./cmd/tools/imitate`).
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from viewer import CHANGE, STEP, ask, messages

torch = pytest.importorskip("torch", reason="needs PyTorch")

IMITATE = os.environ.get("MEMTOP_IMITATE", "")
SETTLING, COMPARED, SOON = 2, 8, 20  # steps, as memtop compares them; the last is what a user may wait for
REST = 0.003  # of a peak's blocks are rests that differ from step to step, at most
PATIENCE = 120.0  # seconds that a busy machine may take for anything here

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not IMITATE, reason="MEMTOP_IMITATE does not name the program that imitates a GPU"),
    pytest.mark.skipif(torch.version.cuda is None, reason="needs a PyTorch for CUDA"),
]


class Job:
    """A job on the imitated GPU, and one viewer of it."""

    def __init__(self, folder: Path, pause: float, mixed: bool) -> None:
        home = Path(__file__).resolve().parent
        environment = {
            **os.environ, "MEMTOP_DIR": str(folder), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(home.parents[1]),
        }  # fmt: skip
        command = [IMITATE, "-gpu", "h100-80gb", "-gpus", "1", "--", sys.executable, "-u", str(home / "device_job.py")]
        self.log = open(folder / "log", "w")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*command, str(pause), str(int(mixed))], env=environment, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.news = threading.Condition()
        self.steps: list[dict[str, Any]] = []
        self.changes: dict[int, dict[str, Any]] = {}
        self.counts: dict[int, tuple[int, int]] = {}  # by step, the peaks that the job counted: see device_job.py
        self.ended = False
        while not (found := list(folder.glob("*.sock"))):
            assert self.process.poll() is None, (folder / "log").read_text()
            threading.Event().wait(0.05)  # a file that appears cannot be waited for
        self.socket = str(found[0])
        for read in (self._read, self._read_counts):
            threading.Thread(target=read, daemon=True).start()

    def _read(self) -> None:
        """Take in what the stream tells. It ends when the program begins to use the device, and then begins anew."""
        while self.process.poll() is None:
            with contextlib.suppress(OSError, HTTPException, EOFError, AssertionError):
                self._read_one()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def _read_counts(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # the job was killed
            step, requested, allocated = map(int, line.split())
            with self.news:
                self.counts[step] = requested, allocated
                self.news.notify_all()

    def _read_one(self) -> None:
        for kind, data in messages(self.socket):
            with self.news:
                if kind == STEP and (not self.steps or data["step"] > self.steps[-1]["step"]):
                    self.steps.append(data)
                elif kind == CHANGE:
                    self.changes[data["id"]] = data
                self.news.notify_all()

    def until(self, what: str, condition: Any) -> Any:
        """Wait until a condition of what the stream has told is true, and return it."""
        with self.news:
            self.news.wait_for(lambda: condition() or self.ended, PATIENCE)
            found = condition()
        assert found, f"{what}; of {len(self.counts)} steps the last known: {self.steps[-3:]}"
        return found

    def ask(self, method: str, path: str, body: str | None = None) -> Any:
        return ask(self.socket, method, path, body)

    def predicted(self, key: str, value: str) -> Any:
        query = urllib.parse.urlencode({"key": key, "value": value})
        return self.ask("GET", f"/v1/prediction?{query}").get("predicted")

    def change(self, key: str, value: str) -> tuple[int, list[dict[str, Any]]]:
        """Change a setting. Return the step that used it first, and the settled steps after it."""
        [change] = self.ask("POST", "/v1/settings", json.dumps({"set": {key: value}}))["changes"]
        assert change["state"] != "refused", change
        made = self.until(f"{key}={value} is applied", lambda: self._settled(change["id"]))
        assert made["state"] == "applied", made
        first = made["step"]
        return first, self.until(f"{key}={value} is measured", lambda: self._measured(first + SETTLING))

    def _settled(self, number: int) -> Any:
        change = self.changes.get(number, {})
        return change if change.get("state") in ("applied", "refused") else None

    def _measured(self, since: int) -> Any:
        after = [s for s in self.steps if s["step"] >= since and s["peak_allocated_bytes"]][:COMPARED]
        return after if len(after) == COMPARED and after[-1]["step"] in self.counts else None

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Any]:
    jobs: list[Job] = []

    def start(*arguments: Any) -> Job:
        tmp_path.chmod(0o700)
        jobs.append(Job(tmp_path, *arguments))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def offered(job: Job, key: str, value: str) -> Any:
    """Return the prediction of a value, once the program has looked at a step under its present settings."""
    job.until("a measured step", lambda: any(s["peak_allocated_bytes"] for s in job.steps))
    job.until("a prediction", lambda: job.predicted(key, value) is not None)
    return job.predicted(key, value)


@pytest.mark.parametrize("pause", [0.02, 0.06, 0.5])
def test_each_key_is_measured_soon_as_predicted_and_undone(begin: Any, pause: float) -> None:
    job = begin(pause, False)
    table = [("key", "steps", "asked for", "predicted", "measured", "error %")]

    def make(key: str, value: str, predicted: int | None = None) -> int:
        """Change a setting, and return the most that each step now asks for."""
        before = next(s["peak_allocated_bytes"] for s in reversed(job.steps) if s["peak_allocated_bytes"])
        first, steps = job.change(key, value)
        peaks = [step["peak_allocated_bytes"] for step in steps]
        counts = [job.counts[step["step"]] for step in steps]
        delta = int(statistics.median(peaks)) - before
        error = None if not predicted else 100 * abs(delta - predicted) / abs(delta)
        took = steps[-1]["step"] - first
        table.append((f"{key}={value}", took + 1, counts[0][0], predicted, delta, error))
        assert took < SOON, table
        assert peaks == [allocated for _, allocated in counts], table
        assert max(peaks) - min(peaks) <= REST * min(peaks), f"{key}={value}: {peaks}"
        assert error is None or error <= 5, table
        [requested] = {requested for requested, _ in counts}
        return requested

    checkpoint = {value: offered(job, "checkpoint", value)["peak_allocated_bytes"] for value in ("all", "half")}

    def undo(key: str, value: str, to: int, predicted: int | None = None) -> None:
        assert make(key, value, predicted) == to, table

    plain = make("checkpoint", "off")  # of settled steps
    for value, predicted in checkpoint.items():
        assert make("checkpoint", value, predicted) < plain
        undo("checkpoint", "off", plain, -predicted)
    mixed = make("amp", "bf16")
    predicted = offered(job, "checkpoint", "all")["peak_allocated_bytes"]  # about a step with autocast
    assert make("checkpoint", "all", predicted) < mixed
    undo("checkpoint", "off", mixed, -predicted)
    undo("amp", "off", plain)
    print("\n".join("\t".join(str(cell) for cell in row) for row in table))


def test_what_the_program_does_itself_is_not_done_again(begin: Any) -> None:
    job = begin(0.02, True)
    offered(job, "checkpoint", "all")
    [change] = job.ask("POST", "/v1/settings", '{"set": {"amp": "bf16"}}')["changes"]
    assert change["state"] == "refused" and "sets mixed precision itself" in change["reason"]
    assert all("loss" not in step for step in job.steps), "the loss of an imitated device is not known"
