"""Answers of HTTP/1.1: what a request gets, and its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Union

from .encoding import json_text
from .request import Refusal, Request

# What the body of a long answer is made of: bytes to send, or the time, by time.monotonic,
# before which there is nothing to send.
Piece = Union[bytes, float]


@dataclass
class Answer:
    """An answer. A body of known length is bytes; another one comes piece by piece."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterator[Piece] = b""
    done: Callable[[], None] = lambda: None  # called once, when it was sent or the peer is gone

    def head(self, request: Request | None, stays: bool) -> bytes:
        """Return the bytes before the body. Without a request it is an answer to what is none."""
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
    """Report whether a body of unknown length is sent in chunks, so that its end can be seen."""
    return request is not None and request.minor >= 1


def chunk_of(request: Request, pieces: list[bytes], ended: bool) -> list[bytes]:
    """Return what is sent of a body of unknown length: pieces of it, and its end."""
    if not chunked(request):
        return pieces
    size = sum(map(len, pieces))
    framed = [b"%x\r\n" % size, *pieces, b"\r\n"] if size else []
    return [*framed, b"0\r\n\r\n"] if ended else framed


@dataclass
class Later:
    """An answer that takes a while: it is made on a thread of its own, and then the server's calls done."""

    answer: Callable[[], Answer]
    done: Callable[[], None] = lambda: None


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return an answer of one line of JSON, in printable ASCII."""
    return Answer(status, {"Content-Type": "application/json"}, json_text(value).encode() + b"\n")


def refusal_answer(refusal: Refusal) -> Answer:
    """Return the answer to a request that is not done."""
    value = {"error": str(refusal)}
    if refusal.holder:
        value["holder"] = refusal.holder
    answer = json_answer(value, refusal.status)
    answer.headers.update(refusal.headers)
    return answer
