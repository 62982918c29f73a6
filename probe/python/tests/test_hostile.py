"""Peers that are malicious, broken, or do not read."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Serving, eventually

from memtop import connection, session
from memtop.door import TOO_MANY
from memtop.journal import COUNTERS, Journal
from memtop.wire import BASE

GET = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"


def post(body: str) -> str:
    return f"POST /v1/settings HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}"


def answer_of(peer: socket.socket) -> tuple[int, str]:
    """Return the status and the body of an answer that has a length, or after which the connection is closed."""
    data = b""
    while b"\r\n\r\n" not in data and (more := peer.recv(65536)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length and (more := peer.recv(65536)):
        body += more
    return int(head.split()[1]), body.decode()


@pytest.mark.parametrize(
    "request_, status, says",
    [
        ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, "not a request of HTTP/1.1"),
        ("GET /v1/info HTTP/2.0\r\nHost: x\r\n\r\n", 400, "not a request of HTTP/1.1"),
        ("GET /v1/info\r\n\r\n", 400, "not a request of HTTP/1.1"),
        ("GET /v1/info HTTP/1.1\r\n\r\n", 400, "needs a header Host"),
        ("GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "address is not valid"),
        ("GET /v1/info HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400, "header of the request"),
        ("GET /v1/info HTTP/1.1\r\nHost: x\r\nX: " + "x" * (1 << 17) + "\r\n\r\n", 431, "16384 bytes before its body"),
        ("G" * (1 << 17), 431, "16384 bytes before its body"),
        ("DELETE /v1/settings HTTP/1.1\r\nHost: x\r\n\r\n", 405, "/v1/settings takes GET and POST"),
        ("POST /v1/info HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405, "/v1/info takes GET"),
        (GET.format("/v1/../../etc/passwd"), 404, "there is nothing at"),
        (GET.format("/%1b[2J"), 404, 'there is nothing at "/\\u001b[2J"'),
        (post('{"set":'), 400, "the body must be"),
        (post("[1,2,3]"), 400, "the body must be"),
        (post('{"set":{}}'), 400, "the body must be"),
        (post('{"set":{"amp":{"$ne":1}}}'), 400, "the body must be"),
        (post('{"set":' * 8000), 400, "the body must be"),
        (post('{"set":{"amp":"' + "x" * 2000 + '"}}'), 400, "a setting may have 1024 bytes"),
        (post(json.dumps({"set": {str(n): "x" for n in range(17)}})), 400, "may change 16 settings"),
        (post("x" * (1 << 17)), 413, "a request may have 65536 bytes"),
        (post("").replace("Length: 0", "Length: -1"), 400, "must be a number"),
        (post("").replace("Length: 0", "Length: " + "9" * 5000), 413, "a request may have"),
        (post("").replace("Content-Length: 0", "Transfer-Encoding: gzip"), 400, "in chunks or with its length"),
        (post("").replace("Content-Length: 0", "Transfer-Encoding: chunked") + "zz\r\n", 400, "a chunk of the body"),
        (post("").replace("Content-Length: 0", "Transfer-Encoding: chunked") + "ffffff\r\n", 413, "may have"),
        (GET.format("/v1/stream?interval=soon"), 400, "interval must be a duration"),
        (GET.format("/v1/stream").replace("Host", "Memtop-Viewer: caf\xe9\r\nHost"), 400, "Memtop-Viewer takes"),
        (GET.format("/v1/stream").replace("Host", f"Memtop-Viewer: {'x' * 65}\r\nHost"), 400, "Memtop-Viewer takes"),
        (GET.format("/v1/prediction?key=none"), 400, "there is no setting"),
    ],
)
def test_requests_that_are_refused_in_one_line(serving: Serving, request_: str, status: int, says: str) -> None:
    peer = serving.peer().raw()
    threading.Thread(target=_send, args=(peer, request_.encode("latin-1")), daemon=True).start()
    got, text = answer_of(peer)
    assert got == status and text.count("\n") == 1 and text.isascii()
    assert says in json.loads(text)["error"] or says in text
    if status in (413, 431):
        assert peer.recv(1) == b""  # and no error because of unread data
    assert serving.peer().ask("/v1/info")[0] == 200


def _send(peer: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):  # the answer may come before everything was read
        peer.sendall(data)


def test_many_requests_on_a_connection_and_a_body_in_chunks(serving: Serving) -> None:
    peer = serving.peer().raw()
    chunked = post("").replace("Content-Length: 0", "Transfer-Encoding: chunked")
    body = '{"set":{"amp":"bf16"}}'
    chunked += f"{5:x}\r\n{body[:5]}\r\n{len(body) - 5:X};x=y\r\n{body[5:]}\r\n0\r\nTrailer: x\r\n\r\n"
    peer.sendall((GET.format("/v1/info") + chunked + GET.format("/nothing")).encode())
    assert [answer_of_exactly(peer)[0] for _ in range(3)] == [200, 200, 404]
    assert serving.program.amp == "bf16"


def answer_of_exactly(peer: socket.socket) -> tuple[int, bytes]:
    """Read one answer of several."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += peer.recv(1)
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    body = b""
    while len(body) < length:
        body += peer.recv(length - len(body))
    return int(head.split()[1]), body


def test_a_peer_that_waits_for_a_word_before_its_body(serving: Serving) -> None:
    peer = serving.peer().raw()
    body = '{"set":{"amp":"bf16"}}'
    head, _, _ = post(body).partition("{")
    peer.sendall(head.replace("Host", "Expect: 100-continue\r\nHost").encode())
    assert peer.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    peer.sendall(body.encode())
    assert answer_of(peer)[0] == 200


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 0.1)
    monkeypatch.setattr(connection, "_IDLE", 0.1)


@pytest.mark.parametrize("begin", ["", "G", "GET /v1/info HT", "GET /v1/info HTTP/1.1\r\nHost: x\r\nX-Slow:"])
def test_peers_that_say_nothing_are_closed(impatient: None, serving: Serving, begin: str) -> None:
    peer = serving.peer().raw()
    peer.sendall(begin.encode())
    data = b"".join(iter(lambda: peer.recv(4096), b""))
    assert data.startswith(b"HTTP/1.1 408 " if begin else b"") and bool(data) == bool(begin)


def test_a_body_that_does_not_come_is_not_waited_for(impatient: None, serving: Serving) -> None:
    peer = serving.peer().raw()
    peer.sendall(post("{" + " " * 100).replace(" " * 100, "").encode())
    assert answer_of(peer)[0] == 408


def test_connections_are_bounded(serving: Serving) -> None:
    first = serving.peer()
    for _ in range(128):
        first.raw()
    for _ in range(40):
        status, answer = serving.peer().ask("/v1/info")
        assert status == 503 and answer["error"] == TOO_MANY
    first.close()
    eventually("room for others", lambda: serving.peer().ask("/v1/info")[0] == 200)


def test_viewers_are_bounded(serving: Serving) -> None:
    streams = [serving.peer().stream("?interval=1m") for _ in range(64)]
    status, answer = serving.peer().ask("/v1/stream")
    assert status == 503 and "64 viewers are watching already" in answer["error"]
    assert len(streams) == 64 and serving.program.viewers[-1] == 64


def test_a_thousand_connects_leave_nothing_behind(serving: Serving) -> None:
    files = len(os.listdir("/proc/self/fd"))
    for number in range(1000):
        peer = serving.peer()
        raw = peer.raw()
        raw.sendall(["", "GET /v1/info HT", GET.format("/v1/stream"), GET.format("/v1/info")][number % 4].encode())
        if number % 8 == 2:
            assert raw.recv(512)
        peer.close()
    eventually("files to be closed", lambda: len(os.listdir("/proc/self/fd")) <= files)
    eventually("viewers to have left", lambda: serving.program.viewers[-1:] in ([], [0]))
    assert threading.active_count() <= 2


def test_a_viewer_that_has_hung_up_halfway_is_left(serving: Serving) -> None:
    peer = serving.peer().raw()
    peer.sendall(GET.format("/v1/stream?interval=60s").encode())
    eventually("the viewer to be there", lambda: serving.program.viewers == [1])
    peer.shutdown(socket.SHUT_WR)
    eventually("the viewer to be gone", lambda: serving.program.viewers == [1, 0])


def test_a_viewer_that_does_not_read_is_cut_off_and_may_come_back(impatient: None, serving: Serving) -> None:
    peer = serving.peer().stream()
    peer.until(COUNTERS)

    def left() -> bool:
        serving.program.run(20)
        return serving.program.viewers[-1] == 0

    eventually("the viewer to be left", left)
    with pytest.raises(http.client.IncompleteRead):
        while True:
            peer.frame()
    base = serving.peer().stream().until(BASE).data
    assert base["first"] == serving.journal.events and base["missed"] == 0


def test_a_viewer_that_falls_behind_learns_how_much_it_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_LOOK", 60)
    small = Serving(tmp_path / "memtop", journal=Journal(keep=1000))
    stream = small.peer().stream("?interval=1s")
    stream.batch()
    at = stream.next
    small.program.run(10)
    missed = 0
    while stream.next < small.journal.events:
        frame = stream.frame()
        if frame.type == BASE:
            assert frame.data["missed"] == frame.data["first"] - at and frame.data["reason"]
            missed += frame.data["missed"]
        at = stream.next
    _, info = small.peer().ask("/v1/info")
    assert info["dropped_events"] == missed > 0
    assert info["dropped_steps"] == 0  # the last steps are repeated
    small.close()


def test_the_program_never_waits_for_a_viewer_that_does_not_read(serving: Serving) -> None:
    for _ in range(8):
        raw = serving.peer().raw()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        raw.sendall(GET.format("/v1/stream?interval=50ms").encode())
    reader = serving.peer().stream()
    reader.batch()
    serving.program.run(50)
    while reader.next < serving.journal.events:
        frame = reader.frame()
        assert frame.type != BASE or frame.data["missed"] == 0


def test_a_fault_of_the_program_is_an_answer(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("it is broken")

    for name in ("info", "snapshot", "on_viewers"):
        monkeypatch.setattr(serving.program, name, fails)
    for path in ("/v1/info", "/v1/snapshot", "/v1/stream"):
        status, answer = serving.peer().ask(path)
        assert status == 500 and "it is broken" in answer["error"]
    monkeypatch.undo()
    assert serving.peer().ask("/v1/info")[0] == 200
    serving.peer().stream().until(BASE)


def test_a_peer_that_sends_byte_by_byte_has_no_more_time_than_others(impatient: None, serving: Serving) -> None:
    peer = serving.peer().raw()
    peer.settimeout(0.02)
    data = b""
    while b"408" not in data:
        _send(peer, b"G")
        with contextlib.suppress(TimeoutError, socket.timeout):
            data += peer.recv(4096)


@pytest.mark.parametrize("seed", range(20))
def test_requests_of_nonsense_leave_the_server_as_it_was(serving: Serving, seed: int) -> None:
    chance = random.Random(seed)
    good = [GET.format(path) for path in ("/v1/info", "/v1/stream?interval=50ms", "/v1/snapshot")]
    good += [post('{"set":{"amp":"bf16"}}'), GET.format("/v1/settings").replace("1.1", "1.0")]
    for _ in range(20):
        data = bytearray("".join(chance.choices(good, k=3)).encode())
        for _ in range(chance.randrange(12)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(5)] = bytes(chance.randrange(256) for _ in range(chance.randrange(5)))
        peer = serving.peer()
        raw = peer.raw()
        _send(raw, bytes(data))
        if chance.random() < 0.5:
            raw.recv(1)
        peer.close()
    assert serving.peer().ask("/v1/info")[0] == 200
    eventually("all viewers to have left", lambda: serving.program.viewers[-1:] in ([], [0]) or serving.program.run())
