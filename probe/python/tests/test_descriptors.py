"""The agent's files in a program that closes numbers, puts its own files there, and has few."""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Serving, eventually

from memtop import boxfile, dead, process, server
from memtop.descriptors import Descriptor, Lost, Socket, names, new_pair, new_socket, read, wait
from memtop.door import TOO_MANY


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


def test_a_box_writes_nothing_into_a_file_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(boxfile.VARIABLE, str(tmp_path / "boxes"))
    file = boxfile.make(process.this())
    assert file is not None
    number = file._file.number
    path = program_takes(number, tmp_path)
    with pytest.raises(Lost):
        file.write(0, b"of the agent")
    with pytest.raises(Lost):
        file.harm()
    file.remove()
    assert unharmed(number, path) and os.listdir(tmp_path / "boxes") == []
    os.close(number)


def test_what_exceeds_the_programs_limit_of_files_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(boxfile.VARIABLE, str(tmp_path / "boxes"))
    monkeypatch.setenv("MEMTOP_DIR", str(tmp_path / "dead"))
    file = boxfile.make(process.this())
    assert file is not None
    signals: list[int] = []
    before, limit = signal.signal(signal.SIGXFSZ, lambda number, _: signals.append(number)), resource.RLIMIT_FSIZE
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (1000, hard))
    try:
        file.write(900, bytes(100))
        for what in (lambda: file.write(901, bytes(100)), lambda: dead.write({"1-1.json": bytes(1001)})):
            with pytest.raises(OSError, match="too large"):
                what()
    finally:
        resource.setrlimit(limit, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
        file.remove()
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


def test_files_and_folders_of_the_system_are_read_as_usual() -> None:
    assert read("/proc/self/cmdline") == Path("/proc/self/cmdline").read_bytes()
    assert sorted(names("/proc/self/task")) == sorted(os.listdir("/proc/self/task"))
    for ask in (read, names):
        with pytest.raises(FileNotFoundError):
            ask("/proc/there is none")


def test_a_server_whose_files_the_program_closes_begins_again_once(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens, all_taken = server.Server._open, threading.Event()
    monkeypatch.setattr(server, "_AGAIN_AFTER", 0.0)
    monkeypatch.setattr(server.Server, "_open", lambda its: all_taken.wait(20) and opens(its))

    def taken() -> dict[int, Path]:
        its = serving.server
        files: list[Socket] = [its._door.listener, its._woken, its._waker, *its._connections]
        return {number: program_takes(number, tmp_path) for number in [file.number for file in files]}

    stream = serving.peer().stream()
    stream.batch()
    before = serving.server._door.listener
    taken_first = taken()
    all_taken.set()
    eventually("a new socket", lambda: serving.server._door.listener is not before)
    assert serving.peer().ask("/v1/info")[0] == 200
    taken_again = taken()
    eventually("the server to leave", serving.server._ended.is_set)
    assert not os.path.exists(serving.server.path)
    for number, path in (taken_first | taken_again).items():
        assert unharmed(number, path)
        os.close(number)


def test_connections_leave_the_program_most_of_its_files(serving: Serving) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    peers = [high_socket() for _ in range(100)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        for place, peer in enumerate(peers):
            peer.connect(serving.server.path)
            if place >= 15:  # the others say nothing
                peer.sendall(b"GET /v1/info HTTP/1.1\r\nHost: memtop\r\n\r\n")
        assert TOO_MANY.encode() in peers[15].recv(4096)
        assert len(serving.server._connections) <= 16
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for peer in peers:
            peer.close()


def high_socket() -> socket.socket:
    """Return a socket whose number is above those that the agent may have here."""
    with socket.socket(socket.AF_UNIX) as low:
        peer = socket.socket(socket.AF_UNIX, fileno=fcntl.fcntl(low, fcntl.F_DUPFD, 200))
    peer.settimeout(20)
    return peer
