"""The agent's files in a program that closes numbers, puts its own files there, and has few."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Servers, eventually

from memtop.link import queue
from memtop.link.descriptors import Descriptor, Lost, Socket, new_pair, new_socket, read, wait
from memtop.memory import report_files


def program_takes(number: int, tmp_path: Path) -> Path:
    """Put a file of the program at a number, as after it has closed all."""
    path = tmp_path / f"program's {number}"
    path.write_bytes(b"Z" * 1000)
    file = os.open(path, os.O_RDWR)
    os.dup2(file, number)
    os.close(file)
    return path


def unharmed(number: int, path: Path) -> bool:
    return os.path.sameopenfile(number, os.open(path, os.O_RDONLY)) and path.read_bytes() == b"Z" * 1000


@pytest.mark.parametrize("make", [new_socket, lambda: Descriptor(os.open("/dev/null", os.O_RDONLY))])
def test_a_number_that_the_program_has_taken_is_neither_used_nor_closed(make: Any, tmp_path: Path) -> None:
    file = make()
    number = file.number
    path = program_takes(number, tmp_path)
    with pytest.raises(Lost):
        file.check()
    file.close()
    del file
    assert unharmed(number, path)
    os.close(number)


def test_what_exceeds_the_programs_limit_of_files_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTOP_DIR", str(tmp_path / "dead"))
    signals: list[int] = []
    before, limit = signal.signal(signal.SIGXFSZ, lambda number, _: signals.append(number)), resource.RLIMIT_FSIZE
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (1000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            report_files.write({"1-1.json": bytes(1001)})
    finally:
        resource.setrlimit(limit, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert signals == []


def test_the_agents_numbers_are_above_those_that_new_files_get() -> None:
    first, second = new_pair()
    own = os.open("/dev/null", os.O_RDONLY)
    assert own < min(first.number, second.number)
    assert not os.get_inheritable(first.number)
    for file in (first, second):
        file.close()
    os.close(own)


def test_waiting_returns_what_is_lost_at_once(tmp_path: Path) -> None:
    first, second = new_pair()
    number = first.number
    program_takes(number, tmp_path)
    assert wait({first: 1}, None) == [first]
    os.close(number)
    for file in (first, second):
        file.close()


def test_a_socket_that_is_freed_closes_nothing(tmp_path: Path) -> None:
    file: Any = new_socket()
    number = file.number
    path = program_takes(number, tmp_path)
    file = None
    gc.collect()
    assert unharmed(number, path)
    os.close(number)


def test_files_of_the_system_are_read_as_far_as_is_enough(tmp_path: Path) -> None:
    assert read("/proc/self/cmdline") == Path("/proc/self/cmdline").read_bytes()
    (tmp_path / "maps").write_bytes(b"")
    os.truncate(tmp_path / "maps", 1 << 42)
    assert len(read(tmp_path / "maps")) == 16 << 20
    with pytest.raises(FileNotFoundError):
        read("/proc/there is none")


def test_a_link_whose_files_the_program_closes_begins_again_once(
    serving: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again, all_taken = queue.Link._begin_again, threading.Event()
    monkeypatch.setattr(queue, "AGAIN_AFTER", 0.0)
    monkeypatch.setattr(queue.Link, "_begin_again", lambda its: (all_taken.wait(20), again(its)))

    def taken() -> dict[int, Path]:
        its = serving.link
        assert its._connection is not None
        files: list[Socket] = [its._woken, its._waker, its._connection.socket]
        return {number: program_takes(number, tmp_path) for number in [file.number for file in files]}

    eventually("the greeting", lambda: len(serving.host.greetings) == 1)
    taken_first = taken()
    serving.host.tell(do="describe")
    all_taken.set()
    eventually("another greeting", lambda: len(serving.host.greetings) == 2)
    assert len(serving.host.listeners) == 1 and serving.host.greetings[1]["who"]["socket"] == serving.link.path
    eventually("a new link", lambda: serving.link._connection is not None)
    taken_again = taken()
    serving.host.tell(do="describe")
    eventually("the link to leave", serving.link._ended.is_set)
    for number, path in (taken_first | taken_again).items():
        assert unharmed(number, path)
        os.close(number)
