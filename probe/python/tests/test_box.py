"""The black box without a job: its file, its folder, its bytes, and what goes wrong with them."""

from __future__ import annotations

import errno
import io
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peer import Frame, Stream
from pretended import Pretended

from memtop import boxfile, process
from memtop.box import Box
from memtop.boxfile import LEAST, MAGIC, PAGE
from memtop.journal import GAUGES, HELLO, STEP, Journal
from memtop.pressure import Pressure
from memtop.server import Server
from memtop.wire import BASE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are written on Linux")

STATE = 12 * 65536  # what the pretended program always has


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    path = tmp_path / "boxes"
    path.mkdir(mode=0o700)
    monkeypatch.setenv(boxfile.VARIABLE, str(path))
    return path


@pytest.fixture
def server(tmp_path: Path, folder: Path) -> Iterator[Server]:
    server = begun(tmp_path)
    yield server
    server.box.close()


def begun(tmp_path: Path) -> Server:
    """Return a server that only keeps a box: its thread does not run."""
    journal = Journal()
    server = Server(journal, Pretended(journal), str(tmp_path / "s"))
    server.box.looked = lambda: True
    server.box.start(process.this())
    return server


class Answer(io.BytesIO):
    status = 200


def frames(path: str | Path) -> list[Frame]:
    """Return the frames of the generation that counts."""
    data = Path(path).read_bytes()
    assert data.startswith(MAGIC) and struct.unpack_from("<QI", data, 8) == (len(data), 0)
    (first, length), (second, other) = struct.iter_unpack("<QQ", data[64:96])
    slot = (len(data) // PAGE - 1) // 2 * PAGE
    at, length = (PAGE, length) if first > second else (PAGE + slot, other)
    return list(Stream(Answer(data[at : at + length])).frames())  # type: ignore[arg-type]


def steps(path: str | Path) -> list[int]:
    return [frame.data["step"] for frame in frames(path) if frame.type == STEP]


def step(number: int) -> Any:
    return {"step": number, "time_us": number, "device": 0, "allocated_bytes": 7}


def test_a_box_is_closed_to_others_and_goes_when_its_program_ends(server: Server, folder: Path) -> None:
    path = Path(server.box.path)
    assert path.parent == folder and path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == [f"{os.getpid()}-{process.this().start}.box"]
    assert path.stat().st_blocks * 512 >= path.stat().st_size  # all of it is taken
    server.box.close()
    assert os.listdir(folder) == []


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_box_in_memory_is_part_of_shared_memory(
    in_memory: bool, tmp_path: Path, folder: Path, monkeypatch: Any
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(boxfile, "in_memory", lambda path: asked.append(path) or in_memory)
    box = begun(tmp_path).box
    assert box.shared == (box.size if in_memory else 0) and asked[-1] == str(folder)
    box.close()
    assert box.shared == 0


def test_a_box_says_who_before_anything_is_known(server: Server) -> None:
    found = frames(server.box.path)
    assert found[0].type == HELLO and found[0].data["pid"] == os.getpid()
    assert not [frame for frame in found if frame.type in (BASE, STEP)]


def test_steps_follow_the_state_of_a_look(server: Server) -> None:
    server.box.look(lambda: None)
    for number in (1, 2, 3):
        server.box.note(STEP, step(number))
    found = frames(server.box.path)
    assert steps(server.box.path)[-3:] == [1, 2, 3] and server.box.knows
    (base,) = [frame.data for frame in found if frame.type == BASE]
    assert sum(size for size, _, _ in base["blocks"].values()) == STATE


def test_a_full_slot_begins_again_with_its_state_and_the_last_steps(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MEMTOP_DIR", str(tmp_path / "s"))
    monkeypatch.setenv(boxfile.VARIABLE, "256KiB")
    server = begun(tmp_path)
    try:
        server.box.look(lambda: None)
        for number in range(1, 5000):
            server._journal.message(STEP, step(number))
            server.box.note(STEP, step(number))
            if number % 499 == 0:
                assert steps(server.box.path)[-1] == number
        found = steps(server.box.path)
        assert os.path.getsize(server.box.path) == LEAST
        assert len(found) >= 64 and found[-64:] == list(range(4936, 5000))
        assert [frame for frame in frames(server.box.path) if frame.type == BASE]
    finally:
        server.box.close()


def test_a_generation_that_was_not_finished_does_not_count(folder: Path) -> None:
    file = boxfile.make(process.this())
    assert file is not None
    box = Box(file)
    box.begin()
    box.add(b"whole")
    box.publish()
    box.begin()
    box.add(b"half")
    data = Path(file._made).read_bytes()
    assert (1, len(b"whole")) in struct.iter_unpack("<QQ", data[64:96])
    file.remove()


def test_with_viewers_the_box_has_what_they_get(server: Server) -> None:
    program: Any = server._routes._program
    server.box.watch(True)
    server.box.tend()
    program.run()
    server.box.note(STEP, step(99))  # the training thread writes nothing now
    server.box._tend_at = 0.0
    server.box.tend()
    found = frames(server.box.path)
    assert [frame for frame in found if frame.type == 9] and steps(server.box.path) == [1]
    server.box.watch(False)
    server.box.note(STEP, step(2))
    assert steps(server.box.path) == [1, 2]


def test_without_steps_the_box_still_says_that_the_program_runs(server: Server) -> None:
    server.box._tend_at = 0.0
    before = time.time_ns() // 1000
    server.box.tend()
    data = Path(server.box.path).read_bytes()
    assert struct.unpack_from("<q", data, boxfile.ALIVE_AT)[0] >= before
    assert [frame for frame in frames(server.box.path) if frame.type == GAUGES]


@pytest.mark.parametrize("mode, link", [(0o755, False), (0o700, True)])
def test_a_folder_that_others_could_have_made_has_no_box(
    tmp_path: Path, monkeypatch: Any, mode: int, link: bool
) -> None:
    real, path = tmp_path / "real", tmp_path / "boxes"
    real.mkdir(mode=mode)
    path.symlink_to(real) if link else real.rename(path)
    monkeypatch.setenv(boxfile.VARIABLE, str(path))
    server = begun(tmp_path)
    assert not server.box.on and ("symbolic link" in server.box.problem or "lets others in" in server.box.problem)
    server.box.note(STEP, step(1))  # the program goes on
    assert server._routes._about.info().get("black_box") is None  # the pretended program says nothing of it
    assert list(real.iterdir() if link else path.iterdir()) == []


def test_a_folder_that_cannot_be_written_has_no_box(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(boxfile.VARIABLE, "/proc/memtop")
    assert "/proc/memtop" in begun(tmp_path).box.problem


def test_a_full_folder_has_no_box_and_no_file(tmp_path: Path, folder: Path, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert "No space left" in begun(tmp_path).box.problem and os.listdir(folder) == []


def test_a_box_that_cannot_be_written_any_more_is_given_up(server: Server, folder: Path, monkeypatch: Any) -> None:
    def broken(*_: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pwrite", broken)
    server.box.note(STEP, step(1))
    assert not server.box.on and "error" in server.box.problem and os.listdir(folder) == []
    server.box.note(STEP, step(2))
    server.box.look(lambda: None)


@pytest.mark.parametrize("harm", ["cut short", "removed"])
def test_a_box_that_another_program_harms_is_given_up(server: Server, harm: str) -> None:
    os.truncate(server.box.path, 100) if harm == "cut short" else os.unlink(server.box.path)
    server.box._tend_at = 0.0
    server.box.tend()
    assert not server.box.on and harm in server.box.problem


def test_a_forked_child_leaves_the_box_alone(server: Server) -> None:
    assert server.box._box is not None
    file = server.box._box.file
    before = file.read(0, file.size)
    child = os.fork()
    if child == 0:
        server.box.note(STEP, step(5))
        server.box.close()
        os._exit(0 if not server.box.on else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert file.read(0, file.size) == before and held(server.box.path)


def held(path: str) -> bool:
    """Ask in another process: a process does not see its own lock, and closing the file would give it up."""
    code = "import os, sys; from memtop import boxfile; sys.exit(boxfile._held(os.open(sys.argv[1], os.O_RDONLY)))"
    root = str(Path(__file__).resolve().parents[1])
    return subprocess.run([sys.executable, "-c", code, path], env={**os.environ, "PYTHONPATH": root}).returncode == 1


def test_a_new_box_removes_old_ones_of_ended_programs(folder: Path) -> None:
    def dead(name: str, age: float) -> None:
        alive = time.time() - age
        header = struct.pack("<8sQI4xq", MAGIC, LEAST, 0, int(alive * 1e6))
        (folder / name).write_bytes(header + bytes(PAGE))
        os.utime(folder / name, (alive, alive))

    for number in range(1, 11):
        dead(f"{number}-5.box", 60.0 * number)
    dead("77-5.box", 25 * 3600)
    dead(".78-5.box", 120)
    (folder / "notes.box").write_text("of somebody else")
    handle = os.open(folder, os.O_RDONLY)
    boxfile.tidy(handle, "none")
    os.close(handle)
    assert sorted(os.listdir(folder)) == sorted([*(f"{number}-5.box" for number in range(1, 9)), "notes.box"])


@pytest.mark.parametrize(
    "wish, size", [("64MiB", 64 << 20), ("4096kB", 4_096_000), ("1g", 1 << 30), ("262145", LEAST + PAGE)]
)
def test_the_variable_may_be_a_size(wish: str, size: int) -> None:
    assert boxfile._size(wish) == size


@pytest.mark.parametrize("wish", ["1KiB", "64GiB", "a/folder", "x"])
def test_a_variable_that_makes_no_sense_is_a_problem(tmp_path: Path, monkeypatch: Any, wish: str) -> None:
    monkeypatch.setenv(boxfile.VARIABLE, wish)
    assert "want off, a size" in begun(tmp_path).box.problem


def test_off_is_no_problem(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(boxfile.VARIABLE, "off")
    box = begun(tmp_path).box
    assert not box.on and box.problem == "" and box.due() is None


SECOND = 1_000_000_000
GIB = 1 << 30


def test_a_look_is_due_when_memory_has_grown_by_a_quarter_and_the_last_one_is_paid_for() -> None:
    pressure = Pressure()
    assert pressure.grows(SECOND, GIB)
    pressure.looked(SECOND, GIB, SECOND // 10)
    assert not pressure.grows(9 * SECOND, GIB + GIB // 5)
    assert not pressure.grows(5 * SECOND, 2 * GIB)  # a tenth of a second is too much so soon
    assert pressure.grows(7 * SECOND, 2 * GIB)


def test_looks_come_as_little_is_left() -> None:
    hour, pressure = 3600 * SECOND, Pressure()
    assert not pressure.runs_out(hour, 30 * GIB, 100 * GIB) and not pressure.close
    assert not pressure.runs_out(2 * hour, 11 * GIB, 100 * GIB) and pressure.close
    assert pressure.runs_out(3 * hour, 9 * GIB, 100 * GIB)
    assert not pressure.runs_out(4 * hour, 9 * GIB - GIB // 2, 100 * GIB)
    assert pressure.runs_out(5 * hour, 8 * GIB, 100 * GIB)
    falling = range(8 * GIB, 0, -(64 << 20))
    looks = sum(pressure.runs_out((6 + n) * hour, left, 100 * GIB) for n, left in enumerate(falling))
    assert 10 < looks <= 22  # a bounded number
    assert not pressure.runs_out(999 * hour, 50 * GIB, 100 * GIB)  # there is room again


def test_a_look_is_due_when_memory_runs_out_within_seconds() -> None:
    pressure = Pressure()
    assert not pressure.runs_out(SECOND, 60 * GIB, 100 * GIB)
    assert not pressure.runs_out(2 * SECOND, 50 * GIB, 100 * GIB) and not pressure.close  # for five seconds
    assert pressure.runs_out(3 * SECOND, 38 * GIB, 100 * GIB) and pressure.close
