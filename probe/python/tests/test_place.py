"""The place of the socket, and its safety."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Serving

from memtop import place, process
from memtop.request import Refusal


def test_the_socket_is_the_users_alone_and_goes_with_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "memtop"
    serving = Serving(folder)
    path = Path(serving.server.path)
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
    with pytest.raises(place.Unsafe, match=reason):
        place.listen(str(tmp_path / "memtop"), process.this())


def test_one_server_is_enough_for_a_program(serving: Serving) -> None:
    with pytest.raises(place.Unsafe, match="one probe is enough"):
        place.listen(os.path.dirname(serving.server.path), process.this())


def test_sockets_that_were_left_behind_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "memtop"
    folder.mkdir(0o700)
    me = process.this()
    for name in (f"{me.pid}-{me.start}.sock", f".{me.pid}-{me.start}.sock", "4711-1.sock"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(folder / name))
    others = ("notes.txt", "4712-1.sock")  # the second is not a socket
    for name in others:
        (folder / name).write_text("")
    serving = Serving(folder)
    assert sorted(p.name for p in folder.iterdir()) == sorted([*others, f"{me.pid}-{me.start}.sock"])
    assert serving.peer().ask("/v1/info")[0] == 200
    serving.close()


def test_a_program_that_does_not_answer_keeps_its_socket_and_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "memtop"
    folder.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "4711-1.sock"))
        silent.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(folder / "4711-1.sock"))  # its queue is full
            serving = Serving(folder)
            assert len(list(folder.iterdir())) == 2
            serving.close()


def test_a_path_of_any_length_will_do(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120) / ("y" * 120)
    serving = Serving(folder)
    assert os.path.exists(serving.server.path)
    serving.close()
    assert not os.path.exists(serving.server.path)


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
    assert place.folder() == folder


def test_the_kernel_says_who_asks(serving: Serving) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert place.peer_of(ours) == (os.getpid(), os.geteuid())


def test_other_users_are_refused_though_the_folder_lets_them_in() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(Path(folder))
        os.chmod(folder, 0o755)
        os.chmod(serving.server.path, 0o777)
        try:
            _ask_as_another_user(serving)
        finally:
            serving.close()


def _ask_as_another_user(serving: Serving) -> None:
    ask = (
        "import os, socket\nos.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n"
        f"s.connect({serving.server.path!r})\ns.sendall(b'GET /v1/info HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\n"
        "print(''.join(iter(lambda: s.recv(4096).decode(), '')))"
    )
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
    assert answer.startswith("HTTP/1.1 403 ") and "you are user 65534: ask as that user or as root" in answer
    for user in (os.geteuid(), 0):
        serving.server._routes.admit(place.Peer(1, user))
    with pytest.raises(Refusal):
        serving.server._routes.admit(place.Peer(1, 12345))
