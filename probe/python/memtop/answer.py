"""HTTP/1.1 answers: what the server returns for a request, and its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Union

from .encoding import json_text
from .request import Refusal, Request

# A piece of a long answer's body: bytes to send, or a time.monotonic before which there is nothing to send.
Piece = Union[bytes, float]


@dataclass
class Answer:
    """An answer. A body of known length is bytes; any other body comes piece by piece."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterator[Piece] = b""
    done: Callable[[], None] = lambda: None  # called once, when the answer was sent or the peer has gone

    def head(self, request: Request | None, stays: bool) -> bytes:
        """Return the status line and the headers. `request` is None if the peer's bytes were no valid request."""
        headers = {"Cache-Control": "no-store", **self.headers}
        if isinstance(self.body, bytes):
            headers["Content-Length"] = str(len(self.body))
        elif chunked(request):
            headers["Transfer-Encoding"] = "chunked"
        if not stays:
            headers["Connection"] = "close"
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunked(request: Request | None) -> bool:
    """Report whether a body of unknown length is sent in chunks, so that the peer sees where it ends."""
    return request is not None and request.minor >= 1


def chunk_of(request: Request, pieces: list[bytes], ended: bool) -> list[bytes]:
    """Return pieces of a body of unknown length, framed for the request; with `ended`, its end too."""
    if not chunked(request):
        return pieces
    size = sum(map(len, pieces))
    framed = [b"%x\r\n" % size, *pieces, b"\r\n"] if size else []
    return [*framed, b"0\r\n\r\n"] if ended else framed


@dataclass
class Later:
    """An answer that takes a while: a separate thread makes it, and then the server's thread calls `done`."""

    answer: Callable[[], Answer]
    done: Callable[[], None] = lambda: None


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return an answer of one line of JSON, in printable ASCII."""
    return Answer(status, {"Content-Type": "application/json"}, json_text(value).encode() + b"\n")


def refusal_answer(refusal: Refusal) -> Answer:
    """Return the answer to a refused request."""
    value = {"error": str(refusal)}
    if refusal.holder:
        value["holder"] = refusal.holder
    answer = json_answer(value, refusal.status)
    answer.headers.update(refusal.headers)
    return answer
