"""Peaks of steps as far as counters say them, and snapshots that are cut to a length, without a device."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from memtop.memory import shortening
from memtop.memory.peaks import Peaks

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
    blocks = [
        {"address": 0, "size": MIB, "state": "active_allocated"},
        {"address": MIB, "size": 7, "state": "inactive"},
    ]
    return {"segments": [{"device": 0, "blocks": blocks}], "device_traces": [list(events)], "allocator_settings": {}}


def test_a_step_below_the_highest_peak_is_left_to_the_host() -> None:
    peaks = Peaks()
    peaks.begin(stats(0, 9 * MIB, 1, 1), snapshot())
    after = stats(0, 9 * MIB, 3, 2)
    assert peaks.highest(0, after[0]) == {}
    assert peaks.played(after) == ((0, 3, 20 * MIB, (0, MIB)),)


def test_a_step_with_the_highest_peak_needs_no_host() -> None:
    peaks = Peaks()
    peaks.begin(stats(0, 9 * MIB, 1, 1), snapshot())
    found = peaks.highest(0, stats(0, 12 * MIB, 2, 2)[0])
    assert found == {"peak_allocated_bytes": 12 * MIB, "peak_reserved_bytes": 20 * MIB}


def test_a_device_that_came_within_the_step_is_not_played() -> None:
    peaks = Peaks()
    peaks.begin({}, snapshot())
    assert peaks.played(stats(0, 0, 1, 0)) == ()


@pytest.mark.parametrize(("most", "least"), [(1 << 20, 1000), (10_000, 100), (1, 0)])
def test_a_snapshot_keeps_its_last_events(monkeypatch: pytest.MonkeyPatch, most: int, least: int) -> None:
    monkeypatch.setattr(shortening, "MOST_BYTES", most)
    made = [{"action": "alloc", "addr": n, "size": 512} for n in range(1000)]
    data = shortening.pickled(snapshot(*made))
    kept = pickle.loads(data)["device_traces"][0]
    assert kept == made[len(made) - len(kept) :] and len(kept) >= least
    assert len(data) <= most or not kept
