"""Peaks of steps, and snapshots that are cut to a length: both are played without a device."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from memtop.memory import shortening
from memtop.memory.peaks import Peak, Peaks

MIB = 1 << 20


def stats(current: int, peak: int, allocations: int, frees: int) -> dict[int, dict[str, Any]]:
    def of(**values: int) -> dict[str, dict[str, int]]:
        return {"all": values}

    return {
        0: {
            "allocated_bytes": of(current=current, peak=peak),
            "reserved_bytes": of(current=20 * MIB, peak=20 * MIB),
            "allocation": of(allocated=allocations, freed=frees),
        }
    }


def snapshot(*events: dict[str, Any]) -> dict[str, Any]:
    block = {"address": 0, "size": 20 * MIB, "requested_size": 0, "state": "inactive"}
    segment = {
        "device": 0, "address": 0, "total_size": 20 * MIB, "segment_type": "large", "blocks": [block],
    }  # fmt: skip
    return {"segments": [segment], "device_traces": [list(events)], "allocator_settings": {}}


def test_a_step_below_the_highest_peak_is_played() -> None:
    peaks = Peaks()
    peaks.begin(stats(0, 9 * MIB, 1, 1), snapshot())
    made = [
        {"action": "alloc", "addr": 0, "size": 4 * MIB},
        {"action": "free_requested", "addr": 0, "size": 4 * MIB},
        {"action": "free_completed", "addr": 0, "size": 4 * MIB},
    ]
    found = peaks.end(stats(0, 9 * MIB, 2, 2), snapshot(*made))
    assert (found, peaks.why) == ({0: Peak(4 * MIB, 20 * MIB)}, "")


def test_a_step_with_the_highest_peak_needs_no_history() -> None:
    peaks = Peaks()
    peaks.begin(stats(0, 9 * MIB, 1, 1), snapshot())
    assert peaks.end(stats(0, 12 * MIB, 2, 2), snapshot()) == {0: Peak(12 * MIB, 20 * MIB)}


def test_a_device_that_came_within_the_step_has_no_peak() -> None:
    peaks = Peaks()
    peaks.begin({}, snapshot())
    assert peaks.end(stats(0, 0, 0, 0), snapshot()) == {}


@pytest.mark.parametrize(("most", "least"), [(1 << 20, 1000), (10_000, 100), (1, 0)])
def test_a_snapshot_keeps_its_last_events(monkeypatch: pytest.MonkeyPatch, most: int, least: int) -> None:
    monkeypatch.setattr(shortening, "MOST_BYTES", most)
    made = [{"action": "alloc", "addr": n, "size": 512} for n in range(1000)]
    data = shortening.pickled(snapshot(*made))
    kept = pickle.loads(data)["device_traces"][0]
    assert kept == made[len(made) - len(kept) :] and len(kept) >= least
    assert len(data) <= most or not kept
