"""The place of the socket, and its safety."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Servers, eventually

from memtop.link import socket_folder
from memtop.link.connection import connect
from memtop.start import identity


def test_the_socket_is_the_users_alone_and_goes_with_the_link(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "memtop"
    serving = Servers(folder)
    path = Path(serving.link.path)
    assert path.parent == folder and stat.S_IMODE(folder.lstat().st_mode) == 0o700
    assert stat.S_ISSOCK(path.lstat().st_mode) and stat.S_IMODE(path.lstat().st_mode) == 0o600
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert path.name == f"{os.getpid()}-{start}.sock"
    serving.close()
    assert list(folder.iterdir()) == []


def _link(path: Path) -> None:
    path.with_suffix(".target").mkdir(0o700)
    path.symlink_to(path.with_suffix(".target"))


def _others(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's folder")
    path.mkdir(0o700)
    os.chown(path, 65534, 65534)


def _open_to(mode: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.mkdir()
        path.chmod(mode)

    return make


@pytest.mark.parametrize(
    "make, reason",
    [
        (_link, "is a symbolic link"),
        (lambda path: path.write_text(""), "is not a folder"),
        (_open_to(0o720), "has mode 0720, which lets others in"),
        (_open_to(0o705), "has mode 0705, which lets others in"),
        (_others, "belongs to user 65534 and not to user 0"),
    ],
)
def test_folders_that_are_refused(tmp_path: Path, make: Callable[[Path], None], reason: str) -> None:
    make(tmp_path / "memtop")
    with pytest.raises(socket_folder.Unsafe, match=reason):
        socket_folder.listen(str(tmp_path / "memtop"), identity.this())


def test_one_server_is_enough_for_a_program(serving: Servers) -> None:
    with pytest.raises(socket_folder.Unsafe, match="one probe is enough"):
        socket_folder.listen(os.path.dirname(serving.link.path), identity.this())


def test_sockets_that_were_left_behind_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "memtop"
    folder.mkdir(0o700)
    me = identity.this()
    for name in (f"{me.pid}-{me.start}.sock", f".{me.pid}-{me.start}.sock", "4711-1.sock"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(folder / name))
    others = ("notes.txt", "4712-1.sock")  # the second is not a socket
    for name in others:
        (folder / name).write_text("")
    serving = Servers(folder)
    assert sorted(p.name for p in folder.iterdir()) == sorted([*others, "1-1.host", f"{me.pid}-{me.start}.sock"])
    serving.close()


def test_a_program_that_does_not_answer_keeps_its_socket_and_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "memtop"
    folder.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "4711-1.sock"))
        silent.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(folder / "4711-1.sock"))  # its queue is full
            serving = Servers(folder)
            assert len(list(folder.iterdir())) == 3
            serving.close()


def test_a_path_of_any_length_will_do(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120) / ("y" * 120)
    serving = Servers(folder)
    assert os.path.exists(serving.link.path)
    serving.close()
    assert not os.path.exists(serving.link.path)


@pytest.mark.parametrize(
    "environment, folder",
    [
        ({"MEMTOP_DIR": "/a", "XDG_RUNTIME_DIR": "/b", "TMPDIR": "/c"}, "/a"),
        ({"XDG_RUNTIME_DIR": "/b", "TMPDIR": "/c"}, "/b/memtop"),
        ({"TMPDIR": "/c"}, f"/c/memtop-{os.geteuid()}"),
        ({"MEMTOP_DIR": "", "XDG_RUNTIME_DIR": "", "TMPDIR": ""}, f"/tmp/memtop-{os.geteuid()}"),
    ],
)
def test_the_folder_is_where_viewers_look(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str
) -> None:
    for name in ("MEMTOP_DIR", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert socket_folder.folder() == folder


def test_the_kernel_says_who_is_at_the_other_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert socket_folder.peer_of(ours) == (os.getpid(), os.geteuid())


def test_viewers_learn_the_program_from_the_kernel_whoever_accepts(serving: Servers) -> None:
    with socket.socket(socket.AF_UNIX) as viewer:
        viewer.connect(serving.link.path)
        eventually("the host's listener", lambda: serving.host.listeners)
        serving.host.listeners[0].accept()[0].close()
        assert socket_folder.peer_of(viewer) == (os.getpid(), os.geteuid())


def test_another_users_host_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    tmp_path.chmod(0o700)
    path = str(tmp_path / "1.host")
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(path)
        os.seteuid(65534)
        try:
            theirs.listen()
        finally:
            os.seteuid(0)
        with pytest.raises(socket_folder.Unsafe, match="served by another user"):
            connect(path)
