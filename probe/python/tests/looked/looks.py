"""Watches programs that train: python looks.py MEMTOP [KIND...] [--lists N] [--attaches N] [--minutes N].

Each program trains as fast as it can, some on the imitated GPU, if MEMTOP_IMITATE names its binary. Meanwhile
`memtop ls`, `memtop attach --once`, `memtop metrics` and, for ranks, `--all-ranks` run again and again, and a viewer
watches for some minutes. The program must not end early. All commands but a few lists must get an answer. If a
program's memory is not known, no answer may call it zero. The losses must be those of the same program that nobody
watched. The memory of its process must not grow with the looks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from program import DEVICES, KINDS, RANKS

PROGRAM = Path(__file__).with_name("program.py")
AGENT = Path(__file__).parents[2]
UNANSWERED = 0.02  # the part of the lists that may miss a program: on a busy machine it may answer too late
GROWTH = (
    64 << 20
)  # bytes that a process may grow after a third of the looks; what is kept of the last minute comes and goes
COMPARED = 20_000  # steps whose losses are compared with those of an unwatched program


class Failed(Exception):
    """The program or a command did something that it must not."""


class Looked:
    """A program that trains until `end`, with an agent. Its socket, boxes and losses are in a folder of its own."""

    def __init__(self, memtop: str, kind: str, folder: Path, lists: int) -> None:
        self.kind, self.memtop, self.folder = kind, memtop, folder
        self.pipe = folder / "end"
        os.mkfifo(self.pipe)
        sockets = folder / "sockets"
        self.environment = {
            **os.environ, "MEMTOP_DIR": str(sockets), "LOOKED_END": str(self.pipe), "OMP_NUM_THREADS": "1",
            "MEMTOP_DEBUG_THREADS": os.environ.get("MEMTOP_DEBUG_THREADS", "1"),
        }  # fmt: skip
        self.errors = open(folder / "errors", "wb")  # noqa: SIM115 # as long as the program runs
        command = [*machine_of(kind), memtop, "run", "--", *command_of(kind, folder / "looked")]
        self.process = subprocess.Popen(command, env=self.environment, stdout=self.errors, stderr=self.errors)
        self.pids: list[int] = []
        self.lists, self.unanswered = lists, 0

    def begin(self) -> None:
        """Wait until the program can be attached to, and has memory, or does not say yet: before it moves its model to
        the device it has none."""
        self.pids = self._pids()
        self.open = [open(self.pipe, "wb") for _ in self.pids]  # noqa: SIM115  # the ranks wait until these are closed

    def _pids(self) -> list[int]:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            self.check()
            rows = json.loads(self.look("ls", "--json"))  # which lists all programs of the machine
            own = [row for row in rows if str(self.folder) in row["command"] and "problem" not in row]
            pids = sorted({row["pid"] for row in own if row["allocated_bytes"] != 0})
            if len(pids) == (2 if self.kind in RANKS else 1):
                return pids
        raise Failed(f"{self.kind}: {self.said() or 'it cannot be attached to after two minutes'}")

    def look(self, *arguments: str, seconds: float = 120) -> str:
        """Call memtop and return what it prints."""
        done = subprocess.run(
            [self.memtop, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        self.check()
        if done.returncode and arguments[0] != "ls":
            with contextlib.suppress(subprocess.TimeoutExpired):  # the program may be just ending
                self.process.wait(5)
            self.check()
            why = f"memtop {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}"
            if "does not answer" not in why:
                raise Failed(f"{self.kind}: {why}")
            self.miss(why)
        return done.stdout

    def list(self) -> None:
        """Run `memtop ls`. This program must be in the list, and memory that is not known must not be listed as
        zero."""
        rows = {row["pid"]: row for row in json.loads(self.look("ls", "--json")) if row["pid"] in self.pids}
        problems = [row["problem"] for row in rows.values() if "problem" in row]
        if problems or len(rows) < len(self.pids):
            self.miss(f"memtop ls: {problems or 'it is not listed'}")
        if zeros := [row for row in rows.values() if row.get("allocated_bytes") == 0]:
            raise Failed(f"{self.kind}: it holds memory, and is listed with none: {zeros}")

    def miss(self, why: str) -> None:
        """Count a look that was not answered in time. On a busy machine there may be a few."""
        self.unanswered += 1
        if self.unanswered > max(1, self.lists * UNANSWERED):
            raise Failed(f"{self.kind}: {self.unanswered} looks were not answered; {why}")

    def check(self) -> None:
        """Raise where the program has ended."""
        code = self.process.poll()
        if code is not None:
            raise Failed(f"{self.kind} ended with {code}: {self.said()}")

    def end(self) -> None:
        """Wait for the program to end by itself."""
        for end in self.open:
            end.close()
        code = self.process.wait(timeout=120)
        if code or "Trespass" in self.said():
            raise Failed(f"{self.kind} ended with {code}: {self.said()}")

    def said(self) -> str:
        return (self.folder / "errors").read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.errors.close()


def machine_of(kind: str) -> list[str]:
    """Return the words before a command that run it where a kind needs it."""
    return [os.environ["MEMTOP_IMITATE"], "--"] if kind in DEVICES else []


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def command_of(kind: str, losses: Path, *arguments: str) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"] if kind in RANKS else []
    if launcher:
        launcher[-2:] = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"]
    return [sys.executable, *launcher, str(PROGRAM), kind, "--losses", str(losses), *arguments]


def look_at(memtop: str, kind: str, lists: int, attaches: int, minutes: float) -> dict[str, Any]:
    """Watch the program so often and so long. Return the results. It raises `Failed`."""
    with tempfile.TemporaryDirectory(prefix="looked-") as name:
        folder = Path(name)
        job = Looked(memtop, kind, folder, lists)
        try:
            job.begin()
            began = time.monotonic()
            if minutes:
                recording = str(folder / "recording.mtr")
                job.look(
                    "record", str(job.pids[0]), "-o", recording, "--for", f"{minutes}m", seconds=60 * minutes + 120
                )
            looks = max(lists, attaches)
            for number in range(looks):
                if number == looks // 3:
                    before = [resident(pid) for pid in job.pids]
                if number < lists:
                    job.list()
                if number * attaches // looks != (number + 1) * attaches // looks:
                    pid = str(job.pids[number % len(job.pids)])
                    job.look("attach", pid, "--once")
                    job.look("metrics")
                    if kind in RANKS:
                        job.look("attach", pid, "--all-ranks", "--once")  # there may be jobs of others
            seconds = time.monotonic() - began
            grown = max(resident(pid) - then for pid, then in zip(job.pids, before))
            if grown > GROWTH:
                raise Failed(f"{kind}: its memory has grown by {grown >> 20} MiB")
            job.end()
        finally:
            job.kill()
        return {
            "kind": kind,
            "seconds": round(seconds, 1),
            "unanswered": job.unanswered,
            "grown_kib": grown >> 10,
            **compare(kind, folder),
        }


def compare(kind: str, folder: Path) -> dict[str, int]:
    """Compare the losses with those of an unwatched program, bit by bit."""
    looked = sorted(folder.glob("looked.*"))
    steps = min(file.stat().st_size for file in looked) // 8
    if not steps:
        raise Failed(f"{kind} made no step")
    compared = min(steps, COMPARED)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    alone = [*machine_of(kind), *command_of(kind, folder / "alone", "--steps", str(compared))]
    subprocess.run(alone, env=environment, check=True, capture_output=True, timeout=600)
    for file in looked:
        if file.read_bytes()[: 8 * compared] != file.with_name(file.name.replace("looked", "alone")).read_bytes():
            raise Failed(f"{kind}: the losses of {file.name} are others than without a look")
    return {"steps": steps, "compared": compared}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memtop")
    there = [kind for kind in KINDS if kind not in DEVICES or "MEMTOP_IMITATE" in os.environ]
    parser.add_argument("kinds", nargs="*", default=there)
    parser.add_argument("--lists", type=int, default=5000)
    parser.add_argument("--attaches", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=0)
    options = parser.parse_args()
    failures = [report(options, kind) for kind in options.kinds]
    sys.exit(any(failures))


def report(options: argparse.Namespace, kind: str) -> bool:
    """Watch a program and print the results. Return whether something failed."""
    try:
        seen = look_at(options.memtop, kind, options.lists, options.attaches, options.minutes)
    except Failed as failure:
        print(f"{kind:14} FAILED: {failure}", flush=True)
        return True
    print(f"{kind:14} {options.lists} ls, {options.attaches} attach: {seen}", flush=True)
    return False


if __name__ == "__main__":
    main()
