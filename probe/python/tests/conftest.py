"""What several tests use: a pretended program with its link and a host."""

from __future__ import annotations

# ruff: noqa: E402
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

import lock_order

lock_order.install()  # before a lock is made

from hosted import MEMTOP, Hosted
from hosting import Host
from pretended import Pretended

from memtop.link.queue import Link
from memtop.safety.threads import allowed, trespasses


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
    assert trespasses == [] and lock_order.circles() == []


class Servers:
    """A program with its link and its host."""

    def __init__(self, folder: Path, **about: bool) -> None:
        os.environ["MEMTOP_DIR"] = str(folder)
        self.host = Host(folder)
        self.link = Link()
        self.program = Pretended(self.link, **about)
        self.link.begin(self.program, self.host.path)

    def close(self) -> None:
        self.link.close("the test ends")
        self.host.close()
        del os.environ["MEMTOP_DIR"]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Servers]:
    s = Servers(tmp_path / "memtop")
    yield s
    s.close()


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosted]:
    if not MEMTOP:
        pytest.skip("needs MEMTOP_BINARY, the path of memtop")
    monkeypatch.setenv("MEMTOP_DIR", str(tmp_path / "m"))
    (tmp_path / "m").mkdir(mode=0o700)
    h = Hosted(tmp_path / "m")
    while gc.collect():  # what earlier tests left would go in the midst of a step, and its memory with it
        pass
    yield h
    h.close()


def eventually(what: str, holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, f"waited for {what}"
        time.sleep(0.005)
