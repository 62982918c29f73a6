"""Planted leaks of host memory are named by kind, and by line where there is one, within 200 steps, with true bytes.
The ledger sums to what the kernel charges the control group, until it ends the program. MEMTOP_BINARY is the path of
memtop, MEMTOP_IMITATE that of the imitated GPU."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from begun import HERE, Begun, starting  # noqa: E402
from recording import MEMTOP  # noqa: E402

sys.path.insert(0, str(HERE.parent))
from groups import limited  # noqa: E402

USAGE = ("memory.usage_in_bytes", "memory.current")  # of the two versions of control groups
SIZE = 1 << 20  # bytes that each step keeps
WITHIN = 200  # steps
WAYS = {  # what is kept: the row that grows, and a text of the line
    "native": ("native", ""),
    "dict": ("python", "cache[step] = ["),
    "strings": ("native", 'cache[step] = "x"'),
    "shared": ("shared memory", "kept.append(mmap.mmap("),
    "private": ("other anonymous", "kept.append(mmap.mmap("),
    "left": ("left in /dev/shm", ""),
    "batches": ("tensors", "kept.append(torch.ones(SIZE // 4))"),
    "references": ("shared memory", "kept.append(x)"),
    "worker": ("workers", ""),
    "pinned": ("pinned", "pinned.append(torch.ones(SIZE // 4).pin_memory())"),
}
ON = [(way, "cuda" if way == "pinned" else "cpu") for way in WAYS] + [("batches", "cuda")]

pytestmark = [pytest.mark.real, pytest.mark.skipif(not MEMTOP, reason="needs MEMTOP_BINARY, the path of memtop")]


class Job(Begun):
    """A job that keeps memory in one way, perhaps in a control group."""

    def __init__(self, folder: Path, way: str, device: str, steps: int, group: str = "") -> None:
        boxes = folder / "boxes"
        boxes.mkdir(mode=0o700)
        enter = (lambda: Path(group, "cgroup.procs").write_text(str(os.getpid())) and None) if group else None
        super().__init__(folder, device, "host_job.py", way, str(steps), before=enter, MEMTOP_BLACK_BOX=str(boxes))

    def until(self, step: int) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if int(line) >= step:
                return
        raise AssertionError(f"it ended before, with {self.process.wait()}")

    def memtop(self, *arguments: str) -> Any:
        done = subprocess.run([MEMTOP, *arguments, "--json"], env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def once(self) -> Any:
        """Return what memtop says of the job, while its steps go on."""
        pids = [int(socket.name.split("-")[0]) for socket in self.sockets.glob("[0-9]*.sock")]
        return self.memtop("attach", str(pids[0]), "--once")


start = starting(Job)


@pytest.mark.parametrize(("way", "device"), ON)
def test_what_grows_is_named_within_200_steps(way: str, device: str, start: Any) -> None:
    if way == "pinned" and not hasattr(torch._C, "_cuda_hostMemoryStats"):
        pytest.skip("needs a PyTorch that tells what its pinned pool has")
    job = start(way, device, 100 * WITHIN)
    try:
        job.until(WITHIN)
        said = job.once()
    finally:
        job.process.kill()
        for left in Path("/dev/shm").glob(f"left-*-of-{job.process.pid}"):
            left.unlink()
    host = said["host"]
    assert sum(row["bytes"] for row in host["ledger"]) == host["bytes"]
    name, text = WAYS[way]
    assert [row["name"] for row in host["leaks"]] == [name], host
    (grown,) = host["leaks"]
    print(f"\n{way} {device}: {grown}")
    assert grown["growth_bytes_per_step"] == pytest.approx(SIZE, rel=0.05), grown
    if text:
        source = (HERE / "host_job.py").read_text().splitlines()
        line = next(number for number, each in enumerate(source, 1) if text in each)
        assert f"host_job.py:{line}" in grown["site"] or f" {line}" in grown["site"], grown


def rows_of(job: Any) -> dict[str, Any]:
    return {row["name"]: row for row in job.once()["host"]["ledger"]}


def test_pages_that_forked_workers_have_copied_are_theirs(start: Any) -> None:
    job = start("copied", "cpu", 100 * WITHIN)
    job.until(30)
    (children,) = Path(f"/proc/{job.process.pid}/task").glob(f"{job.process.pid}/children")
    rolls = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in children.read_text().split()]

    def of(kind: str) -> int:
        return sum(int(size) << 10 for roll in rolls for size in re.findall(rf"^{kind}: +(\d+)", roll, re.MULTILINE))

    assert len(rolls) == 2 and of("Private_Dirty") > 128 * SIZE
    found = rows_of(job)["workers"]["bytes"]
    assert 0.95 * of("Private_Dirty") < found < of("Anonymous")  # some pages only the two workers share


def test_a_file_that_is_mapped_and_not_touched_is_shared_memory(start: Any) -> None:
    job = start("untouched", "cpu", 100 * WITHIN)
    file = Path(f"/dev/shm/untouched-{job.process.pid}")
    try:
        job.until(30)
        row = rows_of(job)["shared memory"]
    finally:
        job.process.kill()
        file.unlink(missing_ok=True)
    assert row["bytes"] == pytest.approx(64 * SIZE, rel=0.05) and str(file) in row["detail"]


def test_the_ledger_sums_to_what_the_kernel_charges_until_it_kills(start: Any) -> None:
    with limited(500 << 20) as group:
        job = start("native", "cpu", 100 * WITHIN, group)
        [usage] = [path for name in USAGE if (path := Path(group, name)).exists()]
        job.until(20)
        off = []
        while job.process.poll() is None:
            low = int(usage.read_text())
            try:
                host = job.once()["host"]
            except (AssertionError, IndexError):
                break  # it was killed meanwhile
            high = int(usage.read_text())
            if high < low // 2:
                break  # likewise
            rows = {row["name"]: row["bytes"] for row in host["ledger"]}
            assert sum(rows.values()) == host["bytes"]
            assert 0.99 * low <= host["bytes"] <= 1.01 * high, (low, host, high)
            off.append(abs(rows.get("unexplained", 0)) / host["bytes"])
        assert off and max(off) < 0.01, off
        print(f"\n{len(off)} ledgers, at most {max(off):.2%} unexplained")
        assert job.process.wait() == -signal.SIGKILL
        until = time.monotonic() + 60
        while not (rows := job.memtop("ls", "--dead")):
            assert time.monotonic() < until
        (row,) = [row for row in rows if row["pid"] == job.process.pid]
        assert row["ended"] in ("out of host memory", "killed, host memory full"), row
        (device,) = job.memtop("report", row["file"])["devices"]
        assert max(device["host"]["ledger"], key=lambda row: row["bytes"])["name"] == "native"
        assert "memory of the host had run out" in device["findings"][0]["text"], device["findings"]
        os.unlink(row["file"])
