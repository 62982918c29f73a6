"""The link: what a host gets, what it is answered, and what a program notices of a host that ends or is slow."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Servers, eventually
from hosting import Host

from memtop.link import queue
from memtop.link.messages import BYE, DESCRIBE, EVENT, FORGET, MISSED, NOTES, REFUSE, SNAPSHOT, STRINGS, packed
from memtop.link.queue import ALLOC, GAUGES, STEP, Link, Tags


def described(serving: Servers) -> list[Any]:
    return [json.loads(text) for _, text in serving.host.of(DESCRIBE)]


def watch(serving: Servers, turn: int = 1) -> None:
    serving.host.tell(do="watch", viewers=1, turn=turn)
    eventually("the viewer", lambda: serving.program.viewers and serving.program.viewers[-1] == 1)


def test_a_host_gets_what_happens_in_order_and_names_before_their_use(serving: Servers) -> None:
    watch(serving)
    serving.program.run(2)
    eventually("two steps", lambda: len(serving.host.of(STEP)) == 2)
    events = serving.host.of(EVENT)
    assert len(events) == 12 + 2 * 402
    assert [e[4] for e in events] == sorted(e[4] for e in events), "times do not decrease"
    kinds = [entry[0] for entry in serving.host.entries]
    assert kinds.index(STRINGS) < kinds.index(NOTES) < kinds.index(EVENT)
    steps = [json.loads(text) for _, text in serving.host.of(STEP)]
    assert [step["step"] for step in steps] == [1, 2] and len(steps[0]["layers"]) == 12


def test_a_host_learns_what_the_launcher_has_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("MEMTOP_SECRET", "mine")
    serving = Servers(tmp_path / "memtop")
    eventually("the greeting", lambda: serving.host.greetings)
    serving.close()
    environment = serving.host.greetings[0]["environment"]
    assert environment["RANK"] == "3" and "MEMTOP_SECRET" not in environment


def test_a_description_says_for_which_turn_of_viewers_it_holds(serving: Servers) -> None:
    serving.host.tell(do="describe")
    eventually("a description", lambda: described(serving))
    assert described(serving)[-1]["turn"] == 0 and "gauges" in described(serving)[-1]
    watch(serving, turn=7)
    eventually("one of turn 7", lambda: described(serving)[-1]["turn"] == 7 and described(serving)[-1]["looked"])


def test_changes_are_answered_with_the_new_options_before(serving: Servers) -> None:
    serving.host.tell(do="change", id=1, key="amp", value="bf16")
    eventually("an answer", lambda: serving.host.answers() == {1: ""})
    assert described(serving)[0]["options"][0]["value"] == "bf16"
    serving.program.refuses = True
    serving.host.tell(do="change", id=3, key="amp", value="off")
    eventually("a refusal", lambda: 3 in serving.host.answers())
    assert serving.host.answers()[3] == "the program does not want to"


def test_a_program_is_looked_at_when_the_host_asks(serving: Servers) -> None:
    serving.host.tell(do="look")
    eventually("the look", lambda: serving.program.looks == 1)


def test_what_the_program_refuses_later_is_told_at_once(serving: Servers) -> None:
    serving.link.refuse("no memory", "amp", "checkpoint")
    eventually("the refusal", lambda: serving.host.of(REFUSE) == [(REFUSE, "no memory", ["amp", "checkpoint"])])


def test_a_snapshot_takes_the_place_of_those_that_would_be_too_much(
    serving: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MOST_SNAPSHOTS", 6)
    with serving.link.lock:
        for data in (b"one", b"two", b"six"):
            serving.link.snapshot(data, (Tags(0, ((64, 1),)),), ((0, 7, 512, (64, 512)),))
    serving.link.wake()
    eventually("the snapshots", lambda: serving.host.of(SNAPSHOT))
    assert [entry[1] for entry in serving.host.of(SNAPSHOT)] == [b"two", b"six"]
    assert serving.host.of(SNAPSHOT)[-1][2:] == (((0, ((64, 1),)),), ((0, 7, 512, (64, 512)),))


def test_a_queue_that_is_full_is_emptied_and_the_host_learns_how_much_it_missed(
    serving: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MOST_ENTRIES", 100)
    with serving.link.lock:  # the link's thread does not send meanwhile
        for n in range(150):
            serving.link.event(ALLOC, 64 * n, 64)
    assert serving.link.torn
    serving.link.wake()
    eventually("the rest", lambda: serving.host.of(MISSED))
    assert serving.host.of(MISSED)[0][1] + len(serving.host.of(EVENT)) == 150


def test_of_many_steps_that_wait_those_with_counters_alone_give_way_to_the_next(serving: Servers) -> None:
    with serving.link.lock:  # the link's thread does not send meanwhile
        for n in range(2000):
            serving.link.message(STEP, {"step": n, "categories": []} if n == 1000 else {"step": n})
        waiting = [entry[1]["step"] for entry in serving.link._queue if entry[0] == STEP]
    assert waiting[-2:] == [1000, 1999] and not serving.link.torn


def test_a_host_that_ends_is_not_noticed_and_the_next_is_taken(serving: Servers, tmp_path: Path) -> None:
    watch(serving)
    serving.host.close()
    eventually("the agent to be silent", lambda: serving.program.viewers[-1] == 0)
    serving.program.run(3)
    assert not serving.link._queue, "nobody takes it"
    other = Host(tmp_path / "other")
    serving.link.meet(other.path)
    eventually("the greeting", lambda: other.greetings)
    assert os.path.exists(serving.link.path) and len(other.listeners) == 1
    serving.host = other
    serving.host.tell(do="watch", viewers=1, turn=1)
    serving.program.run()
    eventually("a step", lambda: other.of(STEP))


def test_a_host_that_stands_still_holds_up_nobody(serving: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    eventually("the greeting", lambda: serving.host.connections)
    taken, still = Host._exactly, threading.Event()
    monkeypatch.setattr(Host, "_exactly", lambda its, c, size: (still.wait(20), taken(its, c, size))[1])
    serving.host.tell(do="watch", viewers=1, turn=1)
    eventually("the viewer", lambda: serving.program.viewers)
    for _ in range(1000):  # more than a socket, a message and the queue take, however often it is sent
        serving.program.run()
    assert serving.link.torn or serving.link._connection is not None
    still.set()
    eventually("what it missed", lambda: serving.host.of(MISSED))


def test_the_host_is_told_of_the_end_and_the_socket_goes(tmp_path: Path) -> None:
    serving = Servers(tmp_path / "memtop")
    eventually("the greeting", lambda: serving.host.greetings)
    serving.link.close("it is over")
    assert serving.host.of(BYE) == [(BYE, "it is over")] and not os.path.exists(serving.link.path)
    serving.close()


def test_forgetting_keeps_what_is_no_memory() -> None:
    its = Link()
    its._on = True
    its.event(ALLOC, 64, 64)
    its.message(STEP, {"step": 1})
    its.message(GAUGES, [])
    its.forget()
    assert [entry[0] for entry in its._queue] == [STEP, GAUGES, FORGET]


@pytest.mark.parametrize("value, text", [(float("nan"), b'"NaN"'), (float("-inf"), b'"-Inf"'), (1.5, b"1.5")])
def test_numbers_that_json_has_not_are_texts(value: float, text: bytes) -> None:
    assert b'{"loss":' + text + b"}" in packed([], [(STEP, {"loss": value})])
