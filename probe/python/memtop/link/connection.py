"""The connection to memtop's host: a unix socket in the folder of the sockets."""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import struct
from collections.abc import Iterator

from ..start import identity
from . import socket_folder
from .descriptors import Socket, held, new_socket
from .messages import framed, json_text
from .program import Json

MOST = 1 << 20  # bytes of a question
# What launchers set begins so: it says which rank of a job this is, see Go's package launcher.
_LAUNCHERS = (
    "LOCAL_RANK", "MASTER_", "MPI_LOCALRANKID", "OMPI_", "PMI", "RANK", "SLURM_", "TORCHELASTIC_RUN_ID", "WORLD_SIZE",
)  # fmt: skip
PATIENCE = 5.0  # seconds, for the host to take the greeting


class Connection:
    """Owned by the link's thread, once the host was greeted."""

    def __init__(self, connected: Socket) -> None:
        self.socket = connected
        self.left = memoryview(b"")  # what was not sent yet
        self._read = bytearray()

    def send(self) -> None:
        """Send as much of what is left as the host takes now. It raises an OSError if the host has gone."""
        with contextlib.suppress(BlockingIOError):
            while self.left:
                self.left = self.left[self.socket.own.send(self.left) :]

    def questions(self) -> Iterator[Json]:
        """Yield what the host says. It raises an OSError if the host has gone, a ValueError if it is none."""
        with contextlib.suppress(BlockingIOError):
            data = self.socket.own.recv(1 << 16)
            if not data:
                raise ConnectionResetError
            self._read += data
        while len(self._read) >= 4:
            (length,) = struct.unpack_from("<I", self._read)
            if length > MOST:
                raise ValueError
            if len(self._read) < 4 + length:
                return
            question = json.loads(bytes(self._read[4 : 4 + length]))
            del self._read[: 4 + length]
            yield question


def connect(host: str) -> Connection:
    """Connect to a host of the same user. It raises `socket_folder.Unsafe` or an OSError."""
    path, name = os.path.split(host)
    with held(socket_folder.open_folder(path)) as handle:
        connected = new_socket()
        try:
            connected.own.settimeout(PATIENCE)
            connected.own.connect(socket_folder.reach(path, handle, name))
            if socket_folder.peer_of(connected.own).user != os.geteuid():
                raise socket_folder.Unsafe(f"{host} is served by another user")
        except BaseException:
            connected.close()
            raise
    return Connection(connected)


def greet(connection: Connection, greeting: Json, path: str, listens: bool) -> str:
    """Say which program this is, and hand over the socket on which it listens for viewers. The process that called
    `listen` is the one that the kernel names to them, whoever accepts. Return the socket's path."""
    this = identity.this()
    try:
        if not listens:
            _greet(connection.socket.own, _with(greeting, this, path), [])
            return path
        listener, path = socket_folder.listen(socket_folder.folder(), this)
        try:
            _greet(connection.socket.own, _with(greeting, this, path), [listener.own.fileno()])
        except BaseException:
            os.unlink(path)
            raise
        finally:
            listener.close()
    except BaseException:
        connection.socket.close()
        raise
    return path


def _with(greeting: Json, this: identity.Process, path: str) -> Json:
    who = {
        "pid": this.pid, "start": this.start, "command": this.command, "socket": path,
        "black_box": os.environ.get("MEMTOP_BLACK_BOX", ""),
    }  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name.startswith(_LAUNCHERS)}
    return {**greeting, "who": {**who, **greeting["who"]}, "environment": environment}


def _greet(connected: socket.socket, greeting: Json, files: list[int]) -> None:
    data = memoryview(framed(json_text(greeting)))
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    data = data[connected.sendmsg([data], rights) :]
    connected.sendall(data)
    connected.setblocking(False)
