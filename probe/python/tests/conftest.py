"""What several tests use: a server of a pretended program, and a peer that asks it."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
os.environ["MEMTOP_DEBUG_THREADS"] = "1"  # also in the programs that tests start
# Programs that tests kill would leave boxes among the user's own. A test that wants a box names its folder.
os.environ.setdefault("MEMTOP_BLACK_BOX", "off")

from peer import Peer
from pretended import Pretended

from memtop.journal import Journal
from memtop.server import Server
from memtop.threads import allowed, trespasses


@pytest.fixture(autouse=True, scope="module")
def no_garbage() -> None:
    """Take what earlier modules left from the garbage collector, so that collections take as long as alone."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # what is frozen at the end of the process counts as leaked


@pytest.fixture(autouse=True)
def checked_threads() -> Iterator[None]:
    """Treat each test's thread as the program's, and fail if another thread touches the program's objects."""
    trespasses.clear()
    with allowed():
        yield
    assert trespasses == []


class Serving:
    """A server with its program."""

    def __init__(self, folder: Path, journal: Journal | None = None, **about: bool) -> None:
        self.journal = journal or Journal()
        self.program = Pretended(self.journal, **about)
        self.server = Server(self.journal, self.program, str(folder))
        self.server.start()
        self.peers: list[Peer] = []

    def peer(self) -> Peer:
        peer = Peer(self.server.path)
        self.peers.append(peer)
        return peer

    def close(self) -> None:
        for peer in self.peers:
            peer.close()
        self.server.close()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    s = Serving(tmp_path / "memtop")
    yield s
    s.close()


def eventually(what: str, holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, f"waited for {what}"
        time.sleep(0.005)
