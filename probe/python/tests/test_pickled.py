"""Snapshots of a program without a caching allocator."""

from __future__ import annotations

import pickle

from conftest import Serving

from memtop import pickled
from memtop.journal import ALLOC, FREE, RETAG, Journal


def test_a_snapshot_has_the_memory_and_the_events_that_led_to_it(serving: Serving) -> None:
    serving.program.run(2)
    answer = serving.peer().request("/v1/snapshot")
    assert answer.getheader("Content-Type") == "application/octet-stream"
    snapshot = pickle.loads(answer.read())
    assert len(snapshot["segments"]) == 12 and snapshot["allocator_settings"] == {"allocator": "none"}
    segment = snapshot["segments"][0]
    assert (segment["total_size"], segment["segment_pool_id"]) == (65536, (0, 0))
    assert segment["frames"][0] == {"filename": "model.py", "line": 42, "name": "forward"}
    [block] = segment["blocks"]
    assert (block["state"], block["category"], block["layer"]) == ("active_allocated", "parameter", "layers.0.weight")
    [trace] = snapshot["device_traces"]
    actions = [event["action"] for event in trace]
    assert actions.count("alloc") == 412 and actions.count("free_requested") == actions.count("free_completed") == 400
    assert trace[-1]["time_us"] >= trace[0]["time_us"] > 0


def test_an_alloc_has_the_category_that_its_memory_had_last() -> None:
    journal = Journal()
    first, last = journal.tables.note("activation"), journal.tables.note("gradient")
    journal.event(ALLOC, 64, 10)
    journal.event(RETAG, 64, 10, note=first)
    journal.event(FREE, 64, 10)
    journal.event(ALLOC, 64, 10, note=first)
    journal.event(RETAG, 64, 10, note=last)
    [trace] = pickle.loads(pickled.of(journal, {}))["device_traces"]
    allocs = [(e["category"], e["noted_category"]) for e in trace if e["action"] == "alloc"]
    assert allocs == [("activation", ""), ("gradient", "activation")]
    assert all("category" in event for event in trace)


def test_the_program_is_watched_while_a_snapshot_is_made(serving: Serving) -> None:
    assert serving.peer().request("/v1/snapshot").read()
    assert serving.program.viewers == [1, 0]
    assert serving.peer().ask("/v1/info")[1]["viewers"] == 0
