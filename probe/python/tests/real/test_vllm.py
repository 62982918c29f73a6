"""What is said of vLLM's memory is what vLLM itself counts, on the imitated GPU: how full its cache is, what sleeps,
and the largest share that it starts with. MEMTOP_BINARY is the path of memtop, MEMTOP_IMITATE that of the imitated
GPU."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="needs vLLM")

from begun import IMITATE, Begun, starting
from recording import MEMTOP, PATIENCE

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (MEMTOP and IMITATE), reason="needs MEMTOP_BINARY and MEMTOP_IMITATE"),
]
TOTAL, CONTEXT = 85017755648, 552599552  # of the H100 that is imitated


class Server(Begun):
    def __init__(self, folder: Path, share: float) -> None:
        folder = folder / str(share)
        folder.mkdir()
        super().__init__(folder, "cuda", "vllm_job.py", str(folder), str(share), options=("--driver-calls",))

    def says(self) -> Any:
        """Return what it prints next, None if it ends before."""
        assert self.process.stdout
        said = (line for line in self.process.stdout if line.startswith('{"used"'))
        return next((json.loads(line) for line in said), None)

    def card(self, taken: int, counted: bool = True) -> Any:
        """Return the ledger, once it is of the moment when so much is taken, and has what the server counts."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            done = subprocess.run(
                [MEMTOP, "attach", str(self.pid()), "--once", "--json"],
                env=self.environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            card = json.loads(done.stdout)["card"]
            if card and bool(card["cache"]) == counted and card["bytes"] == taken:
                return card
        raise AssertionError(f"no ledger of {taken} bytes comes: {card}")

    def pid(self) -> int:
        return int(next(self.sockets.glob("[0-9]*.sock")).name.split("-")[0])

    def go_on(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()


start = starting(Server)


def test_a_server_is_shown_as_it_counts_itself_and_starts_with_the_share_that_is_named(start: Any) -> None:
    server = start(0.02)
    server.card(server.says()["taken"], counted=False)  # whoever asks first waits for the next step
    server.go_on()
    said = server.says()
    card = server.card(said["taken"])
    assert card["cache"] == {"server": "vLLM", "used": said["used"], "size": said["size"], "unit": "blocks"}
    assert said["used"] >= 8 * 500 // 16
    awake = {row["name"]: row["bytes"] for row in card["ledger"]}
    assert awake["CUDA's context"] == CONTEXT and awake["PyTorch, weights"] > 0 and card["asleep_bytes"] == 0

    server.go_on()
    asleep = server.card(server.says()["taken"])
    slept = {row["name"]: row["bytes"] for row in asleep["asleep"]}
    assert slept == {name: awake[name] for name in ("PyTorch, weights", "PyTorch, kv_cache")}
    server.go_on()
    woken = server.card(server.says()["taken"])
    assert woken["asleep"] == [] and woken["asleep_bytes"] == 0
    server.kill()

    share = card["share_most"]
    assert share == (TOTAL - CONTEXT) * 100 // TOTAL / 100
    most = start(share)
    assert share - 0.01 < (most.says()["taken"] - CONTEXT) / TOTAL <= share
    most.kill()
    assert start(round(share + 0.01, 2)).says() is None  # vLLM itself refuses to start
