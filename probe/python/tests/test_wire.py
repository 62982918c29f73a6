"""The bytes of a stream."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from conftest import Serving
from peer import Cursor

from memtop.checksum import crc32c
from memtop.encoding import json_text, signed, text, unsigned
from memtop.events import encode_events
from memtop.journal import ALLOC, FREE, HELLO, STEP, Event, Journal, Message, Pickled, Tags
from memtop.wire import SNAPSHOT, TAGS, Frames

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"


def test_checksums() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1])
def test_numbers_come_back(number: int) -> None:
    assert Cursor(unsigned(number)).u() == number
    for n in (number, -number):
        assert Cursor(signed(n)).s() == n


def test_a_text_that_is_no_unicode_can_be_sent() -> None:
    assert text("a\udc80b") == b"\x03a?b"


def test_json_has_no_numbers_that_are_none_and_nothing_unprintable() -> None:
    value = {"loss": float("nan"), "more": [float("inf"), (-float("inf"), 1.5)], "text": "\x1b\x7fé"}
    assert json_text(value) == r'{"loss":"NaN","more":["+Inf",["-Inf",1.5]],"text":"\u001b\u007f\u00e9"}'


def test_the_frames_of_the_page() -> None:
    """A frame with the payload of the example in docs/protocol.md gets the same bytes here as there."""
    frames = Frames()
    assert frames.message(HELLO, {"version": 1, "pid": 7}) == bytes.fromhex("0a15") + b'{"version":1,"pid":7}' + (
        bytes.fromhex("47916c36")
    )
    assert re.search(r"47 91 6c 36", PAGE.read_text())


@pytest.mark.parametrize("name, size", [("crc32c", 4), ("crc32", 4), ("none", 0)])
def test_a_viewer_chooses_the_checksum(serving: Serving, name: str, size: int) -> None:
    stream = serving.peer().stream(f"?interval=50ms&checksum={name}&minor=1")
    assert stream.header[7] >> 6 == ["crc32c", "crc32", "none"].index(name)
    assert len(stream.checksum(b"frame")) == size
    serving.program.run(3)
    while stream.next < serving.journal.events:
        stream.frame()


def test_another_checksum_than_there_are_is_the_default(serving: Serving) -> None:
    assert serving.peer().stream("?checksum=md5").header[7] == 1


def test_zlibs_checksum_is_of_all_bytes_before_it() -> None:
    frame = Frames("crc32").message(HELLO, {})
    assert frame[-4:] == zlib.crc32(frame[:-4]).to_bytes(4, "little")


def test_equal_events_and_times_take_a_byte() -> None:
    events = [Event(ALLOC, 64, 100, 1000, 1, 1), Event(FREE, 64, 100, 1000, 1, 1)]
    assert encode_events(events) == bytes([0x81, 0x20, 64]) + signed(100) + b"\1\1" + signed(1000) + bytes([0x64])


def test_a_step_that_is_too_long_comes_without_its_layers() -> None:
    layers = [{"name": "x" * 1000}] * 5000
    frame = Frames("none").message(STEP, {"step": 1, "layers": layers})
    assert frame.endswith(b'{"step":1}')


def test_a_table_is_sent_once_and_in_frames_of_bounded_length() -> None:
    tables = Journal().tables
    for number in range(5000):
        tables.frame(f"file{number}.py", "f", number)
    frames = Frames("none")
    sent = list(frames.tables(tables))
    assert len(sent) == 3 and max(map(len, sent)) < 40_000
    assert list(frames.tables(tables)) == []
    tables.frame("another.py", "f", 1)
    assert [frame[0] for frame in frames.tables(tables)] == [1, 5]


def test_a_snapshot_comes_in_parts_and_tags_after_it(serving: Serving) -> None:
    pickled = bytes(range(256)) * 10_000
    serving.program.cached = True
    note = serving.journal.tables.note("parameter")
    old, tags = Tags(0, ((4096, note),)), Tags(0, ((4096, note), (8192, note)))
    serving.journal.add(Pickled(1, b"an older one", (old,)))
    serving.journal.add(Pickled(2, pickled, (tags,)))
    stream = serving.peer().stream("?checksum=none")
    first = stream.batch()
    assert b"".join(frame.data[1] for frame in first if frame.type == SNAPSHOT) == pickled
    assert [frame.data[0] for frame in first if frame.type == SNAPSHOT] == [2, 1, 0]
    assert [frame.data for frame in first if frame.type == TAGS] == [(0, [(4096, "parameter"), (8192, "parameter")])]
    with serving.journal.lock:
        serving.journal.add(Pickled(3, b"one that is followed at once", (old,)))
        serving.journal.add(Pickled(4, b"the newest", (tags,)))
    news = (frame for frame in stream.frames() if frame.type in (SNAPSHOT, TAGS))
    assert next(news).data == (0, b"the newest")
    assert len(next(news).data[1]) == 2


def test_the_last_steps_are_repeated_with_the_newest_layers() -> None:
    journal = Journal(keep=10)
    for number in range(1, 101):
        layers = {"layers": [{"name": str(number)}]} if number <= 20 else {}
        journal.message(STEP, {"step": number, "time_us": number * 100_000, **layers})
    steps = [entry.data for entry in journal.state().latest if isinstance(entry, Message)]
    assert [step["step"] for step in steps] == [20, *range(37, 101)]
    assert [step["step"] for step in steps if "layers" in step] == [20]


def test_layers_come_with_a_step_every_50_ms_at_most() -> None:
    journal = Journal()
    for number in range(1, 11):
        journal.message(STEP, {"step": number, "time_us": number * 20_000, "layers": [{"name": ""}]})
    sent = [entry.data for entry in journal.since(0).entries if isinstance(entry, Message)]
    assert [step["step"] for step in sent if "layers" in step] == [1, 4, 7, 10]


def test_times_do_not_go_back() -> None:
    journal = Journal()
    for time_us in (1000, 500, 2000):
        journal.event(ALLOC, time_us, 1, time_us=time_us)
    assert [e.time_us for e in journal.since(0).entries if isinstance(e, Event)] == [1000, 1000, 2000]
