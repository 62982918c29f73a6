"""HTTP/1.1 requests, read as their bytes arrive, within limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

HEADER_MAX = 16 << 10  # bytes of a request before its body
BODY_MAX = 64 << 10
VIEWER_MAX = 64  # characters of a viewer's name

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRINTABLE = re.compile(r"[ -~]*")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


class Refusal(Exception):
    """A refused request: the HTTP status, and one line that says why or what to do."""

    def __init__(self, status: int, text: str, headers: dict[str, str] | None = None, holder: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers or {}
        self.holder = holder  # the viewer that holds the lease


@dataclass
class Request:
    """A complete request. The names of its headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    minor: int  # the minor version of HTTP/1
    body: bytes = b""

    @property
    def stays(self) -> bool:
        """Whether the peer may send another request on this connection."""
        wish = self.headers.get("connection", "").lower()
        return "close" not in wish and (self.minor >= 1 or "keep-alive" in wish)

    def duration(self, name: str, otherwise: float, low: float, high: float) -> float:
        """Return a parameter in seconds, limited to `low` and `high`, or `otherwise` if it is not given."""
        given = self.query.get(name)
        if not given:
            return otherwise
        if not re.fullmatch(f"(?:{_DURATION.pattern})+", given, re.ASCII):
            raise Refusal(400, f"{name} must be a duration such as 100ms")
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(given))
        return min(max(seconds, low), high)

    def viewer(self, pid: int) -> str:
        """Return the name that the viewer gives itself, or else its process."""
        name = self.headers.get("memtop-viewer")
        if not name:
            return f"pid {pid}"
        if len(name) > VIEWER_MAX or not _PRINTABLE.fullmatch(name):
            raise Refusal(400, f"Memtop-Viewer takes up to {VIEWER_MAX} printable ASCII characters")
        return name


@dataclass
class Reader:
    """Makes requests from the bytes of a connection."""

    data: bytearray = field(default_factory=bytearray)  # received, not used yet
    _head: Request | None = None  # the request whose body is still arriving
    _length: int | None = None  # of that body, None if it comes in chunks
    _chunks: bytearray = field(default_factory=bytearray)  # of that body, received so far

    def next(self) -> Request | None:
        """Return the next request, None if it is not complete yet."""
        if self._head is None and not self._read_head():
            return None
        assert self._head is not None
        body = self._read_chunks() if self._length is None else self._read_body(self._length)
        if body is None:
            return None
        request, self._head = self._head, None
        request.body = body
        return request

    @property
    def begun(self) -> bool:
        """Whether part of a request has arrived."""
        return bool(self.data) or self._head is not None

    @property
    def wants_more(self) -> bool:
        """Whether the peer waits for "100 Continue" before it sends the body."""
        return self._head is not None and self._head.headers.pop("expect", "").lower() == "100-continue"

    def _read_head(self) -> bool:
        while self.data[:2] == b"\r\n":  # some clients send one after a body
            del self.data[:2]
        end = self.data.find(b"\r\n\r\n", 0, HEADER_MAX + 4)
        if end < 0:
            if len(self.data) > HEADER_MAX:
                raise Refusal(431, f"a request may have {HEADER_MAX} bytes before its body")
            first, ended, _ = bytes(self.data).partition(b"\n")
            if ended:
                _request_line(first)
            return False
        lines = bytes(self.data[:end]).split(b"\r\n")
        del self.data[: end + 4]
        method, target, minor = _request_line(lines[0])
        headers = _headers(lines[1:])
        if minor >= 1 and "host" not in headers:
            raise Refusal(400, "a request of HTTP/1.1 needs a header Host")
        self._length = _body_length(headers)
        self._head = Request(method, *_target(target), headers, minor)
        return True

    def _read_body(self, length: int) -> bytes | None:
        if len(self.data) < length:
            return None
        body = bytes(self.data[:length])
        del self.data[:length]
        return body

    def _read_chunks(self) -> bytes | None:
        """Take in the chunks that have arrived. Return the body once the last chunk is there."""
        while (end := self.data.find(b"\r\n")) >= 0:
            size = _chunk_size(bytes(self.data[:end]))
            if len(self._chunks) + size > BODY_MAX:
                raise _too_large()
            after = end + 2 + size  # the position of the line ending after the chunk
            if size == 0:
                after = self.data.find(b"\r\n\r\n", end) + 2
            if after < 2 or len(self.data) < after + 2:
                break
            self._chunks += self.data[end + 2 : end + 2 + size]
            del self.data[: after + 2]
            if size == 0:
                body, self._chunks = bytes(self._chunks), bytearray()
                return body
        if len(self.data) > BODY_MAX + HEADER_MAX:
            raise _too_large()
        return None


def _request_line(line: bytes) -> tuple[str, str, int]:
    parts = line.rstrip(b"\r").split(b" ")
    version = re.fullmatch(rb"HTTP/1\.([01])", parts[-1])
    if len(parts) != 3 or version is None or not _TOKEN.fullmatch(parts[0].decode("latin-1")):
        raise Refusal(400, "this is not a request of HTTP/1.1")
    return parts[0].decode("latin-1"), parts[1].decode("latin-1"), int(version[1])


def _target(target: str) -> tuple[str, dict[str, str]]:
    try:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise Refusal(400, "the request's address is not valid") from None
    return unquote(parts.path), {key: values[0] for key, values in query.items()}


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not _TOKEN.fullmatch(name) or any(c in value for c in "\r\n\0"):
            raise Refusal(400, "a header of the request is not valid")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _body_length(headers: dict[str, str]) -> int | None:
    coding, length = headers.get("transfer-encoding"), headers.get("content-length", "0")
    if coding is not None:
        if coding.lower() != "chunked" or "content-length" in headers:
            raise Refusal(400, "a body may come in chunks or with its length, not otherwise")
        return None
    if not re.fullmatch("[0-9]+", length):
        raise Refusal(400, "Content-Length must be a number")
    if len(length) > 18 or int(length) > BODY_MAX:
        raise _too_large()
    return int(length)


def _chunk_size(line: bytes) -> int:
    size = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", size):
        raise Refusal(400, "a chunk of the body is not valid")
    return int(size, 16)


def _too_large() -> Refusal:
    return Refusal(413, f"a request may have {BODY_MAX} bytes")
