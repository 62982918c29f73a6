"""The answer to each request."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Serving, eventually
from peer import Connection, Stream
from pretended import Pretended

from memtop import server, session, wire
from memtop.events import encode_events
from memtop.journal import ALLOC, BYE, COUNTERS, HELLO, STEP, Event, Journal
from memtop.server import Server
from memtop.shared import Shared
from memtop.wire import BASE, EVENTS


class Source:
    """The parts of frames."""


def test_info_says_who_is_talking_and_how_the_memory_is(serving: Serving) -> None:
    serving.program.run(3)
    status, info = serving.peer().ask("/v1/info")
    assert status == 200
    assert (info["version"], info["step"], info["viewers"], info["read_only"]) == (1, 3, 0, False)
    assert info["capabilities"] == ["snapshot", "control", "at"]
    [device] = info["devices"]
    assert device["allocated_bytes"] == device["requested_bytes"] == 12 * 65536
    assert info["last_step"]["peak_allocated_bytes"] > info["devices"][0]["allocated_bytes"]


def test_a_stream_has_the_state_and_then_every_event(serving: Serving) -> None:
    serving.program.run(1)
    stream = serving.peer().stream()
    assert stream.header == b"\x8fmtr\r\n\x01\x01"
    first = stream.batch()
    assert first[0].type == HELLO and first[0].data["devices"] == [0]
    [base] = [frame.data for frame in first if frame.type == BASE]
    assert len(base["blocks"]) == 12 and base["missed"] == 0 and base["reason"] == ""
    assert [frame.data["step"] for frame in first if frame.type == STEP] == [1]
    before = serving.journal.events
    serving.program.run(20)
    events: list[tuple[int, ...]] = []
    while len(events) < serving.journal.events - before:
        events += stream.until(EVENTS).data
    kept = [e for e in serving.journal.since(0).entries if type(e).__name__ == "Event"][before:]
    assert events == [(e.kind, e.address, e.size, e.time_us, e.stack, e.note) for e in kept]


def test_a_stream_waits_for_the_programs_first_look(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def looked() -> bool:
        looks.append(len(looks))
        if len(looks) == 3:
            serving.journal.event(ALLOC, 0x1000, 64)
        return len(looks) >= 3

    monkeypatch.setattr(serving.program, "looked", looked)
    [base] = [frame.data for frame in serving.peer().stream().batch() if frame.type == BASE]
    assert len(base["blocks"]) == 13


def test_a_stream_waits_for_no_look_without_end(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_FIRST_LOOK", 0.1)
    monkeypatch.setattr(serving.program, "looked", lambda: False)
    [base] = [frame.data for frame in serving.peer().stream().batch() if frame.type == BASE]
    assert len(base["blocks"]) == 12


def test_viewers_are_told_while_no_whole_step_was_looked_at(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = threading.Event()
    looking.set()
    monkeypatch.setattr(serving.program, "looking", looking.is_set)
    stream = serving.peer().stream()
    assert stream.until(COUNTERS).data["looking"] is True
    assert serving.peer().ask("/v1/info")[1]["looking"] is True
    looking.clear()
    while "looking" in stream.until(COUNTERS).data:
        pass
    assert "looking" not in serving.peer().ask("/v1/info")[1]


def test_what_a_step_did_not_say_is_no_zero(serving: Serving) -> None:
    serving.journal.message(STEP, {"step": 1, "time_us": 1, "duration_ns": 5, "device": 0})
    assert "loss" not in serving.peer().ask("/v1/info")[1]["last_step"]


def test_a_stream_says_goodbye_when_the_memory_is_another_than_it_began_with(serving: Serving) -> None:
    stream = serving.peer().stream()
    assert stream.batch()[0].data["settings"] == {"allocator": "none"}
    serving.program.cached = True
    assert "attach again" in stream.until(BYE).data["reason"]
    assert serving.peer().stream().batch()[0].data["settings"] == {}


def test_viewers_are_counted_from_the_first_to_the_last(serving: Serving) -> None:
    one, other = serving.peer(), serving.peer()
    one.stream().until(COUNTERS)
    other.stream().until(COUNTERS)
    assert serving.program.viewers == [1, 2]
    one.close()
    eventually("the first to have left", lambda: serving.program.viewers[-1] == 1)
    other.close()
    eventually("the last to have left", lambda: serving.program.viewers == [1, 2, 1, 0])


def test_a_stream_ends_with_goodbye_at_once(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_LOOK", 60)
    stream = serving.peer().stream("?interval=1m")
    stream.batch()
    serving.program.run(1)
    serving.server.close()
    frames = list(stream.frames())
    assert frames[-1].type == BYE and stream.next == serving.journal.events
    assert serving.program.viewers == [1, 0]


def test_who_has_connected_before_the_end_is_still_answered(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends between a viewer's connection and its request, as it may at any time."""
    for patience in ("_HEAR_WITHIN", "_CLOSE_WITHIN"):  # the machine may be slow
        monkeypatch.setattr(server, patience, 60.0)
    peer = serving.peer()
    connected = [Connection(serving.server.path) for _ in range(8)]
    for connection in connected:
        connection.connect()
    peer.connections += connected
    ending = threading.Thread(target=serving.server.close)
    ending.start()
    eventually("the end to begin", lambda: serving.server._heard > 0)
    for connection in connected:
        connection.request("GET", "/v1/stream?interval=50ms")
    for connection in connected:
        frames = list(Stream(connection.getresponse()).frames())
        assert [frame.type for frame in frames if frame.type in (HELLO, BYE)] == [HELLO, BYE]
    peer.close()
    ending.join()


def test_viewers_of_one_encoding_share_the_work(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counting(events: list[Event]) -> bytes:
        calls.append(len(events))
        return encode_events(events)

    monkeypatch.setattr(wire, "encode_events", counting)
    streams = [serving.peer().stream("?interval=200ms&checksum=none") for _ in range(10)]
    for stream in streams:
        stream.until(COUNTERS)
    before = serving.journal.events
    serving.program.run(20)
    for stream in streams:
        while stream.next < serving.journal.events:
            stream.frame()
    assert sum(calls) <= 5 * (serving.journal.events - before)


def test_a_start_that_was_interrupted_is_closed_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(function: object) -> None:
        raise KeyboardInterrupt

    journal = Journal()
    server = Server(journal, Pretended(journal), str(tmp_path / "memtop"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("memtop.server.start", interrupted)
        server.start()
    server.close()
    assert not list((tmp_path / "memtop").glob("*.sock"))


def test_what_is_shared_is_let_go_when_all_viewers_have_had_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, now = Shared(), [100.0]
    monkeypatch.setattr("memtop.shared.time", SimpleNamespace(monotonic=lambda: now[0]))
    sources = [Source() for _ in range(3)]
    alive = [weakref.ref(source) for source in sources]
    for number in range(3):
        list(shared.pieces(number, sources.pop(0), lambda: [b"a frame"]))
        now[0] += 1.5
    assert [source() is not None for source in alive] == [False, True, True]


def test_what_is_shared_is_bounded() -> None:
    shared = Shared()
    made = []

    def make() -> list[bytes]:
        made.append(1)
        return [bytes(1 << 20)]

    for number in [*range(4), *range(4), 4, 5, 0]:
        assert len(b"".join(shared.pieces(number, None, make))) == 1 << 20
    assert len(made) == 7
    shared.clear()
    assert list(shared.pieces(5, None, list)) == []
