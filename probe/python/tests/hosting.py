"""A host for tests: it keeps what agents send, and asks them what a test wants."""

from __future__ import annotations

import array
import json
import marshal
import os
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from memtop.link.messages import ANSWER, BYE


class Host:
    """Accepts agents in a thread of its own. Entries are those of all agents, in order."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        self.path = str(folder / "1-1.host")
        self.greetings: list[Any] = []
        self.listeners: list[socket.socket] = []
        self.entries: list[tuple[Any, ...]] = []
        self.connections: list[socket.socket] = []
        self.lost = 0  # links that have ended
        self._met = threading.Event()
        self._accepts = socket.socket(socket.AF_UNIX)
        handle = os.open(folder, os.O_RDONLY)
        self._accepts.bind(f"/proc/self/fd/{handle}/1-1.host")  # a path of any length will do
        os.close(handle)
        self._accepts.listen()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._accepts.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, EOFError):
            data, files, *_ = connection.recvmsg(4, socket.CMSG_SPACE(4))
            for _, _, numbers in files:
                self.listeners += [socket.socket(fileno=number) for number in array.array("i", numbers)]
            self.greetings.append(json.loads(self._rest(connection, data)))
            self.connections.append(connection)
            self._met.set()
            while True:
                for entry in marshal.loads(self._rest(connection, self._exactly(connection, 4))):
                    self.entries.append(entry)
                    if entry[0] == BYE:
                        self.tell(do="ended")
        self.lost += 1

    def _rest(self, connection: socket.socket, head: bytes) -> bytes:
        return self._exactly(connection, struct.unpack("<I", head)[0])

    def _exactly(self, connection: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def tell(self, **question: Any) -> None:
        """Tell the newest agent something."""
        text = json.dumps(question).encode()
        self._met.wait(20)
        with suppress(OSError):
            self.connections[-1].sendall(struct.pack("<I", len(text)) + text)

    def of(self, kind: int) -> list[tuple[Any, ...]]:
        """Return the entries of a kind."""
        return [entry for entry in self.entries if entry[0] == kind]

    def answers(self) -> dict[int, str]:
        return {number: refused for _, number, refused in self.of(ANSWER)}

    def close(self) -> None:
        """End, as if killed."""
        self._accepts.close()
        Path(self.path).unlink(missing_ok=True)
        for each in (*self.connections, *self.listeners):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
