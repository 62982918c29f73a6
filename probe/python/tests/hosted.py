"""memtop's own host, for what it plays from what an agent sends. MEMTOP_BINARY is the path of memtop; without it the
tests that need a host are skipped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "real"))
from viewer import ask

from memtop.link.connection import connect, greet
from memtop.link.messages import BYE, DESCRIBE, packed

MEMTOP = os.environ.get("MEMTOP_BINARY") or os.environ.get("MEMTOP", "")
PATIENCE = 20.0  # seconds


def host_of(environment: dict[str, str]) -> str:
    """Start a host that ends with this process, and return the path of its socket."""
    command = ["memtop-host", environment["MEMTOP_DIR"], str(os.getpid())]
    said = subprocess.run(command, executable=MEMTOP, env=environment, capture_output=True, text=True).stdout
    assert said.startswith("MEMTOP_HOST="), said
    return said.strip().partition("=")[2]


def described(*options: Any) -> dict[str, Any]:
    device = {"device": 0, "allocated_bytes": 0, "reserved_bytes": 0}
    return {"devices": [device], "settings": {}, "notices": [], "looked": True, "options": options}


class Hosted:
    """This process as a program of such a host."""

    def __init__(self, folder: Path) -> None:
        self._connection = connect(host_of({**os.environ, "MEMTOP_DIR": str(folder)}))
        about = {"version": "test", "who": {"writer": "test", "rehearsed_on": ""}, "program": described()}
        self._path = greet(self._connection, about, "", listens=True)
        self._connection.socket.own.setblocking(True)

    def send(self, *entry: Any) -> None:
        """Send an entry of a link."""
        self._connection.socket.own.sendall(packed((), [entry]))

    def until(self, path: str, name: str, value: Any) -> Any:
        """Wait until the host's answer says something, and return the answer."""
        until = time.monotonic() + PATIENCE
        while (answer := ask(self._path, "GET", path)).get(name) != value:
            assert time.monotonic() < until, f"{name} is {answer.get(name)}, not {value}"
        return answer

    def predicted(self, settings: Any, value: str) -> Any:
        """Return what a job's host predicts of a value of the setting checkpoint."""
        options = [{name: each for name, each in option.items() if each is not False} for option in settings.options()]
        self.send(DESCRIBE, described(*options))
        self.until("/v1/settings", "options", options)
        query = urllib.parse.urlencode({"key": "checkpoint", "value": value})
        return ask(self._path, "GET", f"/v1/prediction?{query}").get("predicted")

    def close(self) -> None:
        self.send(BYE, "the test ends")
        self._connection.socket.close()
