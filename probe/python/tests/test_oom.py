"""The files written when memory runs out, with the stand-in for PyTorch's allocator."""

from __future__ import annotations

import json
import os
import pickle
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from kept import Kept
from recorded import SHORT
from standin import ACTIVE, Allocator, Tensor

from memtop.memory import out_of_memory, report_files
from memtop.memory.out_of_memory import OutOfMemory
from memtop.watch.watch import Watch

MIB = 1 << 20


class Dying:
    """A program with an agent that runs out of memory."""

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator
        self.watch = Watch(Kept())
        self.handler = OutOfMemory(self.watch)
        self.handler.begin()

    def run_out(self, asked: int = 300 * MIB) -> BaseException:
        """Run out of memory; return the exception."""
        with pytest.raises(torch.cuda.OutOfMemoryError) as caught:
            self.allocator.run_out(0, asked, 20 * MIB, 80 << 30)
        return caught.value

    def files(self) -> list[str]:
        """Return the names of the written files, without the times in them."""
        return sorted(os.listdir(report_files.folder()))

    def snapshot(self) -> dict[str, Any]:
        """Return the snapshot that was written."""
        [name] = [name for name in self.files() if name.endswith(".pickle")]
        with open(os.path.join(report_files.folder(), name), "rb") as file:
            found: dict[str, Any] = pickle.load(file)
        return found

    def answer(self) -> dict[str, Any]:
        """Return the report that was written."""
        [name] = [name for name in self.files() if name.endswith(".json")]
        found: dict[str, Any] = json.loads(Path(report_files.folder(), name).read_text())
        return found


@pytest.fixture
def dying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dying]:
    monkeypatch.setenv("MEMTOP_DIR", str(tmp_path / "memtop"))
    monkeypatch.setattr(out_of_memory, "_attached", False)
    allocator = Allocator(SHORT)
    allocator.install(monkeypatch.setattr)
    allocator.advance(300)
    found = Dying(allocator)
    yield found
    found.handler.close()
    found.watch.close()


def test_the_snapshot_and_the_answer_are_there_before_the_exception_and_its_text_says_where(dying: Dying) -> None:
    seen: list[list[str]] = []
    # an observer of the program, called after the agent's
    dying.allocator.observers.append(lambda *_: seen.append(dying.files()))
    error = dying.run_out()
    [files] = seen
    assert [name.rpartition(".")[2] for name in files] == ["json", "pickle"]
    first, line = str(error).split("\n")
    assert first.startswith("CUDA out of memory. Tried to allocate 300 MiB")
    assert line == f"memtop: what held the memory: memtop open {os.path.join(report_files.folder(), files[1])}"
    assert str(error) == str(error)
    assert error.args == (first,)
    assert pickle.loads(pickle.dumps(error)).args == (first,)


def test_the_answer_says_who_asked_for_how_much(dying: Dying) -> None:
    dying.run_out()
    answer, stats = dying.answer(), dying.allocator.stats(0)
    assert answer["asked_bytes"] == 300 * MIB
    assert answer["free_bytes"] == 20 * MIB
    assert answer["device"] == 0
    assert answer["pid"] == os.getpid()
    assert answer["allocated_bytes"] == stats["allocated_bytes"]["all"]["current"]
    assert answer["reserved_bytes"] == stats["reserved_bytes"]["all"]["current"]


def test_the_snapshot_has_the_request_and_what_memory_is_for(dying: Dying, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [b for s in dying.allocator.snapshot()["segments"] for b in s["blocks"] if b["state"] == ACTIVE]
    tensor = Tensor(blocks[3]["address"], blocks[3]["requested_size"])
    scan = dying.watch.look.gathering.scan
    monkeypatch.setattr(
        dying.watch.look.gathering,
        "scan",
        lambda device: [scan(device), dying.watch.registry.see(tensor, "parameter", "layers.7", "weight", 0)],
    )
    dying.run_out()
    found = dying.snapshot()
    [noted] = [b for s in found["segments"] for b in s["blocks"] if b.get("category") == "parameter"]
    assert (noted["address"], noted["layer"], noted["role"]) == (tensor.storage.address, "layers.7", "weight")
    [event] = found["device_traces"][0]
    assert (event["action"], event["size"], event["device_free"]) == ("oom", 300 * MIB, 20 * MIB)
    assert event["frames"][0]["name"] == "run_out"
    assert any(frame["name"] == "run_out" and "test_oom.py" in frame["filename"] for frame in event["frames"])
    assert not any(frame["filename"].endswith(os.sep + "out_of_memory.py") for frame in event["frames"])


def test_a_history_that_is_recorded_has_the_request_once_and_notes_on_what_is_alive(
    dying: Dying, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.cuda.memory._record_memory_history()
    dying.allocator.advance(100)
    alive = {b["address"] for s in dying.allocator.snapshot()["segments"] for b in s["blocks"] if b["state"] == ACTIVE}
    event = next(
        e for e in reversed(dying.allocator.devices[0].recorded) if e["action"] == "alloc" and e["addr"] in alive
    )
    tensor = Tensor(event["addr"], event["size"])
    monkeypatch.setattr(
        dying.watch.look.gathering,
        "scan",
        lambda device: dying.watch.registry.see(tensor, "activation", "layers.7", "output", 0),
    )
    dying.run_out()
    trace = dying.snapshot()["device_traces"][0]
    assert [e["action"] for e in trace].count("oom") == 1
    noted = [e for e in trace if e["category"] == "activation"]
    assert [(e["addr"], e["layer"]) for e in noted] == [(event["addr"], "layers.7")]
    assert all(e["noted_category"] == "" for e in trace if e["category"] == "unknown")


def test_at_most_one_is_written_in_a_minute(dying: Dying, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dying.run_out()
    second = dying.run_out()
    assert len(dying.files()) == 2
    assert "memtop" not in str(second)
    assert "memtop" not in str(first), "the text belongs to the exception that was shown, not to one before it"
    now = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert "memtop open" in str(dying.run_out())
    assert len(dying.files()) == 4


def test_the_oldest_files_go_when_there_are_too_many(dying: Dying, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_files, "MOST_FILES", 4)
    monkeypatch.setattr(out_of_memory, "PAUSE", 0)
    for _ in range(5):
        dying.run_out()
    assert [name.rpartition(".")[2] for name in dying.files()] == ["json", "pickle"] * 2
    Path(report_files.folder(), "mine.txt").write_text("kept")
    monkeypatch.setattr(report_files, "MOST_BYTES", 1)
    dying.run_out()
    assert len(dying.files()) == 3


def test_files_and_folder_are_the_users_own(dying: Dying) -> None:
    dying.run_out()
    assert stat.S_IMODE(os.stat(report_files.folder()).st_mode) == 0o700
    assert {stat.S_IMODE(os.stat(Path(report_files.folder(), name)).st_mode) for name in dying.files()} == {0o600}


@pytest.mark.parametrize("wrong", ["open to all", "a link", "a file"])
def test_a_folder_that_is_not_safe_gets_nothing_and_the_exception_says_so(
    dying: Dying, tmp_path: Path, wrong: str
) -> None:
    folder = Path(report_files.folder())
    folder.parent.mkdir()
    if wrong == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    elif wrong == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.write_text("")
    assert "memtop: what held the memory could not be written: folder" in str(dying.run_out())


def test_what_fails_in_the_agent_does_not_reach_the_program(dying: Dying, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dying.handler, "_write", lambda request: 1 / 0)
    assert "division by zero" in str(dying.run_out())
    monkeypatch.setattr(out_of_memory, "_answer", lambda request: 1 / 0)
    assert str(dying.run_out()).startswith("CUDA out of memory")


def test_nothing_is_left_in_the_exceptions_and_the_observer_rests_when_the_agent_has_left(dying: Dying) -> None:
    dying.handler.close()
    error = dying.run_out()
    assert "__str__" not in vars(torch.cuda.OutOfMemoryError)
    assert "memtop" not in str(error)
    assert not Path(report_files.folder()).exists()
    again = OutOfMemory(dying.watch)
    again.begin()
    assert len(dying.allocator.observers) == 1, "PyTorch takes no observer back, so there is one for the whole life"
    assert "memtop open" in str(dying.run_out())
    again.close()


def test_the_observer_waits_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    allocator = Allocator(SHORT)
    allocator.install(monkeypatch.setattr)
    monkeypatch.setattr(out_of_memory, "_attached", False)
    monkeypatch.setattr(torch.cuda, "_lazy_call", calls.append)
    watch = Watch(Kept())
    handler = OutOfMemory(watch)
    handler.begin()
    assert not allocator.observers
    [initialised] = calls
    initialised()
    assert len(allocator.observers) == 1
    handler.close()
    watch.close()


def test_the_history_is_on_from_the_first_use_of_a_device_until_the_agent_leaves(dying: Dying) -> None:
    assert dying.allocator.most is not None
    dying.handler.close()
    assert dying.allocator.most is None
