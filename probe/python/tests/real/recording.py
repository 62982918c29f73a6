"""What memtop says about a recording, and what it would have said while the recording grew."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

MEMTOP = os.environ.get("MEMTOP_BINARY") or os.environ.get("MEMTOP", "")
CUT = 7  # the exit code for a file that ends early: what was readable was used
PATIENCE = 300.0  # seconds that a busy machine may take for anything


class Recording:
    """A recording of a process, by a viewer that watches until the process ends."""

    def __init__(self, pid: int, path: Path, environment: dict[str, str]) -> None:
        """Begin to record, and wait until the recording has begun."""
        self.path = path
        self._command, self._environment = [MEMTOP, "record", str(pid), "-o", str(path)], environment
        self._begin()
        until = time.monotonic() + PATIENCE
        while not self._begun():
            assert time.monotonic() < until
            if self._recorder.poll() is not None:  # the process did not answer in time, on a busy machine
                self._begin()

    def _begin(self) -> None:
        self._recorder = subprocess.Popen(self._command, env=self._environment, stdout=subprocess.DEVNULL)

    def _begun(self) -> bool:
        with contextlib.suppress(FileNotFoundError):  # which a recorder that gets no answer takes away again
            return self.path.stat().st_size > 0
        return False

    def wait_for_news(self) -> None:
        """Wait until the recording has what the job has done so far: its stream says at least once a second that all
        before has been sent."""
        for _ in range(3):
            size, until = self.path.stat().st_size, time.monotonic() + PATIENCE
            while self.path.stat().st_size == size:
                assert time.monotonic() < until

    def end(self) -> None:
        """Wait until the recorded process has ended."""
        assert self._recorder.wait(timeout=PATIENCE) == 0

    def kill(self) -> None:
        self._recorder.kill()
        self._recorder.wait()

    def leaks(self, size: int | None = None, kinds: tuple[str, ...] = ("leak",)) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of events and the findings of leaks in the first `size` bytes, by default in all."""
        part = self.path.with_name("part.mtr")
        part.write_bytes(self.path.read_bytes()[:size])
        said = subprocess.run([MEMTOP, "report", str(part), "--json"], capture_output=True, check=False)
        assert said.returncode in (0, CUT), said.stderr
        if not (devices := json.loads(said.stdout)["devices"]):
            return 0, []  # nothing of any memory has come yet
        device = max(devices, key=lambda device: device["events"])
        return device["events"], [finding for finding in device["findings"] if finding["kind"] in kinds]

    def measured(self, events: int | None = None) -> list[int]:
        """Return the numbers of the measured steps among the first events, by default among all."""
        table = self.path.with_suffix(".csv")
        subprocess.run([MEMTOP, "export", str(self.path), "--to", "csv", "-o", str(table), "--force"], check=True)
        with table.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["action"] == "step_end"]
        return [int(row["size"]) for row in rows if events is None or int(row["index"]) < events]
