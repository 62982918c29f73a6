"""Runs jobs that must not notice memtop: python notice.py MEMTOP FOLDER [NAME...].

A job is a program of the folder that no other program of it imports. Its argument is about how many seconds it takes:
SECONDS of the environment, or 12. Each runs alone, under `memtop run` while nobody looks, and while it is looked at all
the time. What it prints on its standard output and its exit code must be the same. A job that has not ended after six
times its time alone hangs. All looks but a few must be answered.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = os.environ.get("SECONDS", "12")
UNANSWERED = 0.1  # the part of the looks that may fail: a job may end meanwhile, or start others
SPARE = 20  # seconds that any job may take longer, on a busy machine


class Looks:
    """Looks at the programs whose sockets are in a folder, in all ways in turn, until `stop` is set."""

    def __init__(self, memtop: str, environment: dict[str, str]) -> None:
        self.memtop, self.environment = memtop, environment
        self.folder = Path(environment["MEMTOP_DIR"])
        self.stop = threading.Event()
        self.tried = self.answered = 0
        self.why = ""  # the last look that was not answered said this

    def run(self) -> None:
        ways: list[Callable[[str], None]] = [
            self.attach,
            self.attach_json,
            self.list,
            self.many,
            self.silent,
            self.killed,
        ]
        for look in itertools.cycle(ways):
            while not (pids := [file.name.split("-")[0] for file in self.folder.glob("*-*.sock")]):
                if self.stop.wait(0.1):
                    return
            look(pids[0])
            if self.stop.wait(0.1):
                return

    def _ask(self, pid: str, *arguments: str) -> None:
        with self._start(*arguments) as command:
            try:
                code, said = command.wait(60), command.stderr.read() if command.stderr else b""
            except subprocess.TimeoutExpired:
                command.kill()
                code, said = -1, b"after a minute it had not ended"
        if code == 0 or self._connected(pid):  # a job that has ended or replaced itself meanwhile need not answer
            self.tried, self.answered = self.tried + 1, self.answered + (code == 0)
            self.why = self.why if code == 0 else f"{' '.join(arguments)}: {said.decode().strip()}"

    def _connected(self, pid: str, connections: int = 1, seconds: float = 0) -> bool:
        """Open connections that say nothing for some seconds. Report whether the job's agent takes them."""
        with contextlib.ExitStack() as opened:
            try:
                for _ in range(connections):
                    one = opened.enter_context(socket.socket(socket.AF_UNIX))
                    one.settimeout(1)
                    one.connect(str(next(self.folder.glob(f"{pid}-*.sock"))))
            except (OSError, StopIteration):
                return False
            return not self.stop.wait(seconds)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        return subprocess.Popen(
            [self.memtop, *arguments], env=self.environment, stdin=null, stdout=null, stderr=subprocess.PIPE
        )

    def list(self, pid: str) -> None:
        self._ask(pid, "ls")

    def attach(self, pid: str) -> None:
        self._ask(pid, "attach", pid, "--once")

    def attach_json(self, pid: str) -> None:
        self._ask(pid, "attach", pid, "--once", "--json")

    def many(self, pid: str) -> None:
        """Sixteen viewers at once."""
        viewers = [threading.Thread(target=self.attach, args=(pid,)) for _ in range(16)]
        for viewer in viewers:
            viewer.start()
        for viewer in viewers:
            viewer.join()

    def silent(self, pid: str) -> None:
        """A hundred connections that say nothing."""
        self._connected(pid, 100, 2)

    def killed(self, pid: str) -> None:
        """A recording whose viewer is killed."""
        with tempfile.TemporaryDirectory() as folder, self._start("record", pid, "-o", f"{folder}/it.mtr") as viewer:
            self.stop.wait(1)
            viewer.kill()


def run(command: list[str], environment: dict[str, str], limit: float, looks: Looks | None = None) -> tuple[str, str]:
    """Run a job. Return its output with its exit code, and its last error."""
    job = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    looker = threading.Thread(target=looks.run) if looks else None
    if looker:
        looker.start()
    try:
        out, errors = job.communicate(timeout=limit)
        said = f"{out.strip()}\nexit code {job.returncode}"
    except subprocess.TimeoutExpired:
        said = f"it did not end in {limit:.0f} s"
        os.killpg(job.pid, signal.SIGKILL)
        _, errors = job.communicate()
    if looks and looker:
        looks.stop.set()
        looker.join()
    return said, errors.strip().rpartition("\n")[2]


def noticed(memtop: str, job: Path) -> list[str]:
    """Return what differs when a job is watched."""
    command, faults = [sys.executable, str(job), SECONDS], []
    with tempfile.TemporaryDirectory(prefix="notice-") as sockets:
        environment = {**os.environ, "MEMTOP_DIR": sockets, "PYTHONDONTWRITEBYTECODE": "1"}
        began = time.monotonic()
        alone, _ = run(command, environment, 600)
        limit = 6 * (time.monotonic() - began) + SPARE
        looks = Looks(memtop, environment)
        for how, looker in {"nobody looks": None, "looked at": looks}.items():
            said, error = run([memtop, "run", "--", *command], environment, limit, looker)
            if said != alone:
                faults.append(f"{how}: {said!r} in place of {alone!r}; {error}")
        if looks.answered < (1 - UNANSWERED) * looks.tried - 3:
            faults.append(f"{looks.answered} of {looks.tried} looks were answered; {looks.why}")
    return faults


def jobs_of(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.py"))
    imported = {name for file in files for name in re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.M)}
    return [file for file in files if file.stem not in imported]


def main() -> None:
    memtop, folder, *names = sys.argv[1:]
    jobs = [job for job in jobs_of(Path(folder).resolve()) if not names or job.stem in names]
    bad = 0
    for job in jobs:
        faults = noticed(str(Path(memtop).resolve()), job)
        bad += bool(faults)
        print(f"{job.stem:18} {'; '.join(faults) or 'ok'}", flush=True)
    print(f"{len(jobs) - bad} of {len(jobs)} jobs do not notice")
    sys.exit(bool(bad) or not jobs)


if __name__ == "__main__":
    main()
