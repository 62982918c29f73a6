"""A job on the imitated GPU, as a test sees it.

The job's script is in `jobs` and uses `pace`: it says on its standard output where it is, and stands still when the
test wants that. So a test waits for what it needs, and never for a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BINARIES = ("MEMTOP_IMITATE", "MEMTOP_BINARY")
JOBS = Path(__file__).with_name("jobs")
PATIENCE = 900.0  # seconds: beside forty busy processes, a job that compiles took seven minutes to begin
_TORCHRUN = ("-m", "torch.distributed.run", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0")


class Ended(Exception):
    """The job has ended, or says nothing. The text has what it wrote last."""


class Refused(Exception):
    """The job refuses a setting. The text says why."""


class Job:
    """A job in processes of its own: a script of `jobs` with its arguments. Its sockets, snapshots and caches are in
    `folder`. With `ranks`, torchrun starts it that many times. With `watched` false it has no agent: nothing but the
    agent differs.
    """

    def __init__(
        self, folder: Path, script: str, *arguments: object, gpu: str = "h100-80gb", gpus: int = 1, ranks: int = 0,
        watched: bool = True, environment: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.ranks, self.watched = folder, max(1, ranks), watched
        self._environment = {
            **os.environ, "MEMTOP_DIR": str(folder / "memtop"), "OMP_NUM_THREADS": "1", "MEMTOP_DEBUG_THREADS": "1",
            "IMITATED_FOLDER": str(folder), **(environment or {}),
        }  # fmt: skip
        imitate, memtop = (os.environ[name] for name in BINARIES)
        launcher = [*_TORCHRUN, "--nproc-per-node", str(ranks)] if ranks else []
        self._command = [
            imitate, "-gpu", gpu, "-gpus", str(max(gpus, ranks)), "--", *([memtop, "run", "--"] if watched else []),
            sys.executable, *launcher, str(JOBS / f"{script}.py"), *map(str, arguments),
        ]  # fmt: skip
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._orders: list[int] = []
        self.pids: dict[int, int] = {}  # by rank
        for rank in range(self.ranks):
            os.mkfifo(self._pipe(rank))
            # Also open for reading, so that opening waits for nobody. The ranks see its end when this process ends.
            self._orders.append(os.open(self._pipe(rank), os.O_RDWR))
        self._errors = open(folder / "errors", "wb")  # noqa: SIM115 # as long as the job runs
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.PIPE, stderr=self._errors, stdin=subprocess.DEVNULL
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self) -> Job:
        """Wait until every rank says its pid; with an agent, until `memtop ls` lists them all."""
        self.pids = {rank: said["pid"] for rank, said in self.each("begin").items()}
        until = time.monotonic() + PATIENCE
        while self.watched and len({row["pid"] for row in self.listed()}) < self.ranks:
            if time.monotonic() > until or self._process.poll() is not None:
                raise Ended(f"memtop ls does not list it: {self.errors()}")
        return self

    @property
    def pid(self) -> int:
        return self.pids[0]

    def each(self, moment: str) -> dict[int, dict[str, Any]]:
        """Wait until every rank has said this moment; return what they say of it, by rank."""
        found: dict[int, dict[str, Any]] = {}
        while len(found) < self.ranks:
            try:
                said = self._said.get(timeout=PATIENCE)
            except queue.Empty:
                raise Ended(f"it does not say {moment!r}: {self.errors()}") from None
            if said is None:
                self._said.put(None)
                raise Ended(f"it ended with {self._process.wait()} before it said {moment!r}: {self.errors()}")
            if said["moment"] == moment:
                found[said["rank"]] = said
        return found

    def next(self, moment: str) -> dict[str, Any]:
        """Wait until rank 0 says this moment; return what it says of it."""
        return self.each(moment)[0]

    def order(self, order: str) -> None:
        """Write an order to all ranks: see `pace`."""
        for pipe in self._orders:
            os.write(pipe, f"{order}\n".encode())

    def exhaust(self) -> dict[str, Any]:
        """Have the job, which stands, ask for more memory than there is, and stand again; return what rank 0 says."""
        self.order("exhaust")
        return self.next("exhausted")

    def stand(self) -> dict[str, Any]:
        """Have the job stand still after its step, and return what rank 0 counts there."""
        self.order("stand")
        return self.next("stands")

    def go(self) -> None:
        """Have it go on."""
        self.order("go")

    def steps(self, number: int) -> dict[str, Any]:
        """Let a standing job make that many steps and stand again; return what rank 0 counts there."""
        self.order(f"steps {number}")
        return self.next("stands")

    def looked(self) -> dict[str, Any]:
        """Let a standing job that a viewer watches make steps until the agent has looked at one, and stand again;
        return what rank 0 counts there."""
        self.go()
        self.attach()  # it waits for the look
        return self.stand()

    def end(self) -> dict[str, Any]:
        """Have the job end, and return what rank 0 says last. It must exit with 0."""
        self.order("end")
        said = self.next("ends")
        code = self.wait()
        if code:
            raise Ended(f"it ended with {code}: {self.errors()}")
        return said

    def wait(self) -> int:
        """Wait for the job to end by itself; return its exit code. The agent may not have broken its rule of
        threads."""
        code = self._process.wait(timeout=PATIENCE)
        if "Trespass" in self.errors():
            raise Ended(f"a thread of the agent touched what is the program's: {self.errors()}")
        return code

    def memtop(self, *arguments: object) -> str:
        """Run memtop, and return what it prints. It must exit with 0."""
        done = self._call(*arguments)
        if done.returncode:
            raise Ended(f"memtop {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def _call(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [os.environ["MEMTOP_BINARY"], *map(str, arguments)]
        return subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def listed(self) -> list[dict[str, Any]]:
        """Return the rows of `memtop ls`: one for each rank and device."""
        rows = json.loads(self.memtop("ls", "--json"))  # of the whole machine
        return [row for row in rows if row["pid"] in self.pids.values() and "problem" not in row]

    @contextlib.contextmanager
    def viewed(self) -> Iterator[None]:
        """Let a viewer watch rank 0 meanwhile."""
        recording = str(self.folder / "viewed.mtr")
        viewer = subprocess.Popen(
            [os.environ["MEMTOP_BINARY"], "record", str(self.pid), "-o", recording, "--force"],
            env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield
        finally:
            viewer.send_signal(signal.SIGINT)
            viewer.wait(timeout=PATIENCE)

    def attach(self, *options: object, rank: int = 0) -> dict[str, Any]:
        """Return the state that `memtop attach --once` prints."""
        found: dict[str, Any] = json.loads(self.memtop("attach", self.pids[rank], "--once", "--json", *options))
        return found

    def set(self, value: str, rank: int = 0) -> dict[str, Any]:
        """Change a setting, such as "checkpoint=all", and return its measured effect. The job must make steps. Raise
        `Refused` with the reason."""
        done = self._call("set", self.pids[rank], value, "--wait", "--json")
        if done.returncode == 2 and "is refused:" in done.stderr:
            raise Refused(done.stderr.strip())
        if done.returncode:
            raise Ended(f"memtop set {value}: exit {done.returncode}: {done.stderr.strip()}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def snapshot(self, rank: int = 0) -> Path:
        """Save a snapshot of this moment, and return its path."""
        path = self.folder / f"{self.pids[rank]}.pickle"
        self.memtop("snapshot", self.pids[rank], "-o", path, "--force", "--now")
        return path

    def report(self, path: Path) -> dict[int, dict[str, Any]]:
        """Return the report on a file, by device."""
        return {device["device"]: device for device in json.loads(self.memtop("report", path, "--json"))["devices"]}

    def dead(self) -> list[dict[str, Any]]:
        """Return what the job left when it ran out of memory: its rows of `memtop ls --dead`."""
        rows = json.loads(self.memtop("ls", "--dead", "--json"))
        return [row for row in rows if row["pid"] in self.pids.values()]

    def errors(self) -> str:
        """Return the end of what the job wrote to its standard error."""
        return (self.folder / "errors").read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        """End the job, and let go of what belongs to it."""
        for pipe in self._orders:
            os.close(pipe)
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _pipe(self, rank: int) -> Path:
        return self.folder / f"orders.{rank}"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self._said.put(json.loads(line))
        self._said.put(None)
