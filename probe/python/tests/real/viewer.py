"""A viewer of a program: it asks by HTTP over the program's socket, and reads the messages of a stream."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

STEP, CHANGE = 12, 14  # types of messages


class Connection(http.client.HTTPConnection):
    """A connection of HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("memtop", timeout=120)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path: str, method: str, of: str, body: str | None = None) -> Any:
    """Return the answer, which is JSON."""
    connection = Connection(path)
    try:
        connection.request(method, of, body, {"Memtop-Viewer": "test"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def messages(path: str) -> Iterator[tuple[int, Any]]:
    """Yield the types and contents of a stream's messages, see docs/protocol.md, and skip its other frames."""
    connection = Connection(path)
    connection.request("GET", "/v1/stream?interval=50ms&checksum=none", headers={"Memtop-Viewer": "test"})
    stream = connection.getresponse()
    _exactly(stream, 8)
    while True:
        kind, length, shift = _exactly(stream, 1)[0], 0, 0
        while True:
            byte = _exactly(stream, 1)[0]
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        payload = _exactly(stream, length)
        if 10 <= kind <= 17:
            yield kind, json.loads(payload)


def _exactly(stream: http.client.HTTPResponse, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
