"""Recorded snapshots of programs on real devices: played again, through the agent, its socket and memtop's recording,
they have the numbers that are known of the files.

MEMTOP is the path of a memtop that was built from this tree; the files' folder is MEMTOP_SNAPSHOTS, or lies beside the
project. Without either the tests are skipped.
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

from recorded import RECORDED, expected, needs_recorded

MEMTOP = os.environ.get("MEMTOP", "")
REPLAYED = Path(__file__).parents[1] / "replayed.py"
AT_ONCE = 3000  # events between two snapshots

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP, the path of memtop"),
    needs_recorded,
]


class Replay:
    """A program that replays a file, and memtop's recording of it."""

    def __init__(self, folder: Path, file: str) -> None:
        self.environment = {**os.environ, "MEMTOP_DIR": str(folder), "OMP_NUM_THREADS": "1"}
        self.recording = folder / "run.mtr"
        self.program = subprocess.Popen(
            [sys.executable, str(REPLAYED), str(RECORDED / file), "0"],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.program.stdout and self.program.stdout.readline() == "ready\n"
        self.viewer = self.memtop("record", str(self.program.pid), "-o", str(self.recording))
        self.wait_for_growth(0)

    def memtop(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([MEMTOP, *arguments], env=self.environment, stdout=subprocess.PIPE, text=True)

    def ask(self, line: str) -> str:
        assert self.program.stdin and self.program.stdout
        self.program.stdin.write(line + "\n")
        self.program.stdin.flush()
        return self.program.stdout.readline()

    def wait_for_growth(self, size: int) -> None:
        """Wait until the recording has grown by more than a heartbeat."""
        while self.viewer.poll() is None and (
            not self.recording.exists() or self.recording.stat().st_size < size + 1000
        ):
            time.sleep(0.01)

    def play(self) -> None:
        """Let all events happen. The viewer has each snapshot before the next is taken."""
        while True:
            size = self.recording.stat().st_size
            happened = int(self.ask(str(AT_ONCE)))
            self.ask("snapshot")
            if happened < AT_ONCE:
                return
            self.wait_for_growth(size)

    def report(self) -> Any:
        """End the program, and return memtop's report on the recording."""
        self.program.communicate()
        assert self.viewer.wait(60) == 0
        output, _ = self.memtop("report", str(self.recording), "--json").communicate(timeout=120)
        return json.loads(output)["devices"][0]

    def close(self) -> None:
        for process in (self.program, self.viewer):
            process.kill()
            process.communicate()


@pytest.fixture
def replay(tmp_path: Path) -> Iterator[Any]:
    replays: list[Replay] = []

    def begin(file: str) -> Replay:
        replays.append(Replay(tmp_path, file))
        return replays[-1]

    yield begin
    for running in replays:
        running.close()


@pytest.mark.parametrize(("file", "numbers"), expected())
def test_a_recording_of_a_program_on_a_device_has_the_numbers_of_its_snapshot(
    file: str, numbers: dict[str, Any], replay: Any
) -> None:
    playing = replay(file)
    playing.play()
    report = playing.report()
    assert {name: report[name] for name in numbers} == numbers
