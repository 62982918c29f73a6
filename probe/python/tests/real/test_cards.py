"""The ledger of a device sums to what the driver says is used, and each row is what the job has taken, on the imitated
GPU: by libraries, by NCCL, and by an allocator that sleeps, which stands for vLLM's. MEMTOP_BINARY is the path of
memtop, MEMTOP_IMITATE that of the imitated GPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from begun import HERE, IMITATE, Begun, starting  # noqa: E402
from recording import MEMTOP, PATIENCE, Recording  # noqa: E402

TAKER = HERE.parents[3] / "engine/device/cuda/callers/testdata/taker.c"
CC = shutil.which("cc") or ""
MIB = 1 << 20

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (MEMTOP and IMITATE), reason="needs MEMTOP_BINARY and MEMTOP_IMITATE"),
    pytest.mark.skipif(not CC or not TAKER.exists(), reason="needs a C compiler, and the project around this"),
]


class Job(Begun):
    """A job that takes memory in one way, and what it says of that."""

    def __init__(self, folder: Path, way: str) -> None:
        for name, source in (("first", TAKER), ("second", TAKER), ("pooled", HERE / "pooled.c")):
            command = [CC, "-O1", "-shared", "-fPIC", "-o", str(folder / f"lib{name}.so"), str(source), "-ldl"]
            subprocess.run(command, check=True)
        boxes = folder / "boxes"
        boxes.mkdir(mode=0o700)
        super().__init__(
            folder, "cuda", "card_job.py", way, str(folder), options=("--driver-calls",), MEMTOP_BLACK_BOX=str(boxes)
        )
        assert self.process.stdout
        self.said = json.loads(self.process.stdout.readline())
        self.since = time.time() * 1e6  # from then on a look sees all that it has
        self.pid = int(next(self.sockets.glob("[0-9]*.sock")).name.split("-")[0])

    def memtop(self, *arguments: str) -> Any:
        done = subprocess.run([MEMTOP, *arguments, "--json"], env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def card(self) -> Any:
        """Return the ledger, once the agent has one of all that the job has."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            card = self.memtop("attach", str(self.pid), "--once")["card"]
            if card and card["time_us"] > self.since:
                return card
        raise AssertionError("no ledger comes")


start = starting(Job)

CONTEXT = 552599552  # of the H100 that is imitated


def rows(job: Any) -> dict[str, int]:
    """Return the rows of a job's ledger, and check what holds for every one."""
    card = job.card()
    found = {row["name"]: row["bytes"] for row in card["ledger"]}
    assert sum(found.values()) == card["bytes"] == job.said["used"]
    assert card["watched"] and card["lost_calls"] == 0
    assert found.get("unexplained", 0) == 0 and found["CUDA's context"] == CONTEXT
    private = sum(size for name, size in found.items() if name.startswith("PyTorch"))
    assert private + card["asleep_bytes"] == job.said["reserved"]
    return found


def test_without_more_there_is_pytorch_and_the_context(start: Any) -> None:
    assert set(rows(start("none"))) == {"PyTorch", "CUDA's context"}


def test_libraries_are_named_to_the_byte(start: Any) -> None:
    job = start("libraries")
    found = rows(job)
    assert {name: found[name] for name in job.said["took"]} == job.said["took"]
    assert found["rounded to pages"] == MIB - 12345


def test_a_recording_and_a_black_box_keep_the_ledger(start: Any, tmp_path: Path) -> None:
    job = start("libraries")
    live = job.card()
    recording = Recording(job.pid, tmp_path / "run.mtr", job.environment)
    recording.wait_for_news()
    os.kill(job.pid, signal.SIGKILL)
    recording.end()
    (dead,) = job.memtop("ls", "--dead")
    for path in (str(recording.path), dead["file"]):
        (device,) = job.memtop("report", path)["devices"]
        assert device["card"]["ledger"] == live["ledger"] and device["card"]["bytes"] == job.said["used"]


def test_nccl_has_what_it_takes_by_communicator(start: Any) -> None:
    job = start("nccl")
    found = rows(job)
    groups = [size for name, size in found.items() if re.match("NCCL, group ", name)]
    assert sum(groups) == job.said["took"]["nccl"] and groups == [24 * 14 * MIB] * 2


@pytest.mark.skipif(not hasattr(torch.cuda.memory, "MemPool"), reason="needs a PyTorch with pools")
@pytest.mark.parametrize("way", ["server", "asleep"])
def test_a_servers_memory_has_the_names_of_its_allocator(way: str, start: Any) -> None:
    job = start(way)
    found, took = rows(job), job.said["took"]
    assert found["PyTorch, weights"] == took["weights"]
    assert found.get("PyTorch, kv_cache", 0) == (took["kv_cache"] if way == "server" else 0)
    assert job.card()["asleep_bytes"] == (0 if way == "server" else took["kv_cache"])
