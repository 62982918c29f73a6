"""A peer of the server: HTTP over its socket, and the stream decoded by docs/protocol.md."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memtop.checksum import CHECKSUMS


class Connection(http.client.HTTPConnection):
    """A connection of HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("memtop", timeout=120)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Peer:
    """Asks a server."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.connections: list[Connection] = []

    def request(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> http.client.HTTPResponse:
        connection = Connection(self.path)
        self.connections.append(connection)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        return connection.getresponse()

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, Any]:
        """Return the status and the JSON of an answer, which must be one line."""
        answer = self.request(path, method, body, **headers)
        text = answer.read()
        assert text.count(b"\n") == 1 and text.isascii(), text
        return answer.status, json.loads(text)

    def stream(self, query: str = "?interval=50ms", **headers: str) -> Stream:
        return Stream(self.request("/v1/stream" + query, **headers))

    def raw(self) -> socket.socket:
        """Return a connection to send anything on."""
        connection = Connection(self.path)
        self.connections.append(connection)
        connection.connect()
        return connection.sock

    def close(self) -> None:
        for connection in self.connections:
            connection.close()


class Cursor:
    """Reads numbers and texts of a payload."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def u(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def s(self) -> int:
        number = self.u()
        return -(number + 1) // 2 if number & 1 else number // 2

    def text(self) -> str:
        length = self.u()
        self.at += length
        return self.data[self.at - length : self.at].decode()

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


@dataclass
class Frame:
    type: int
    data: Any


class Stream:
    """Reads frames and checks what every reader may rely on."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        assert answer.status == 200, answer.read()
        self.answer = answer
        self.header = self.take(8)
        self.tables: dict[int, list[Any]] = {1: [None, ""], 5: [None], 6: [None, ()], 7: [None]}
        self.next = -1  # the number of the next event
        self.checksum = CHECKSUMS[("crc32c", "crc32", "none")[self.header[7] >> 6]].of

    def take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.answer.read(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def frame(self) -> Frame:
        begin = self.take(1)
        while len(begin) < 2 or begin[-1] >= 0x80:
            begin += self.take(1)
        payload = self.take(Cursor(begin[1:]).u())
        checksum = self.checksum(begin + payload)
        assert self.take(len(checksum)) == checksum
        return Frame(begin[0], self.decode(begin[0], payload))

    def frames(self) -> Iterator[Frame]:
        """Return frames up to the end of the stream."""
        with contextlib.suppress(EOFError):
            while True:
                yield self.frame()

    def until(self, type: int) -> Frame:
        return next(frame for frame in self.frames() if frame.type == type)

    def batch(self) -> list[Frame]:
        """Return the frames that belong together."""
        frames = [self.frame()]
        while frames[-1].type not in (16, 17):
            frames.append(self.frame())
        return frames

    def decode(self, type: int, payload: bytes) -> Any:
        c = Cursor(payload)
        if 10 <= type <= 17:
            return json.loads(payload)
        if type in self.tables:
            return self.entries(type, c)
        if type == 18:
            return c.u(), c.data[c.at :]
        if type == 19:
            return c.s(), [(c.u(), self.name(7, c.u())[3]) for _ in range(c.u())]
        return self.base(c) if type == 8 else self.events(c)

    def entries(self, type: int, c: Cursor) -> list[Any]:
        new = []
        while c.more:
            if type == 1:
                entry: Any = c.text()
            elif type == 5:
                entry = (self.name(1, c.u()), self.name(1, c.u()), c.s())
            elif type == 6:
                entry = tuple(self.name(5, c.u()) for _ in range(c.u()))
            else:
                entry = (*[self.name(1, c.u()) for _ in range(8)], c.u(), c.u())
            self.tables[type].append(entry)
            new.append(entry)
        return new

    def name(self, type: int, number: int) -> Any:
        assert number < len(self.tables[type]), f"{number} of table {type} was not sent"
        return self.tables[type][number]

    def base(self, c: Cursor) -> dict[str, Any]:
        base: dict[str, Any] = {"device": c.s(), "first": c.s(), "missed": c.s(), "reason": c.text(), "blocks": {}}
        for _ in range(c.u()):
            c.u()
            address, sizes = c.u(), [c.s() for _ in range(4)]
            assert len(set(sizes)) == 1 and c.s() == base["device"]
            assert [c.u() for _ in range(5)] == [0, 0, 0, 0, 1]
            assert c.byte() == 0x39 and c.s() == sizes[0]
            c.u()
            assert c.s() == sizes[0]
            base["blocks"][address] = (sizes[0], self.name(6, c.u()), self.name(7, c.u()))
        assert not c.more and list(base["blocks"]) == sorted(base["blocks"])
        self.next = base["first"]
        return base

    def events(self, c: Cursor) -> list[tuple[int, ...]]:
        assert c.s() == 0 and c.s() == self.next
        events = []
        address = size = stack = note = time = 0
        for _ in range(c.u()):
            head = c.byte()
            if not head & 0x20:
                assert head & 0x80 and c.byte() == 0x20
                address, size, stack, note = c.u(), c.s(), c.u(), c.u()
                self.name(6, stack)
                self.name(7, note)
            if not head & 0x40:
                time += c.s()
            events.append((head & 0x1F, address, size, time, stack, note))
        assert not c.more
        self.next += len(events)
        return events
