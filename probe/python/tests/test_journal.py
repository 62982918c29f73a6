"""What the journal keeps, and for how long."""

from __future__ import annotations

import pytest

from memtop import journal as journals
from memtop.journal import ALLOC, GAUGES, KEPT_SECONDS, Journal


def test_entries_are_let_go_a_minute_later_and_a_reader_that_is_late_learns_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(journals.time, "monotonic", lambda: now)
    journal = Journal()
    late = journal.position
    for second in range(10 * int(KEPT_SECONDS)):
        now = float(second)
        journal.event(ALLOC, 4096 * second, 512)
        journal.message(GAUGES, {"second": second}, key=0)
        if second < KEPT_SECONDS:
            assert journal.since(late).missed is None
        assert journal.position - journal.oldest <= 2 * (KEPT_SECONDS + 2)
    assert journal.since(late).missed == journal.events
    recent = journal.since(journal.position - 2)
    assert recent.missed is None and len(recent.entries) == 2
    assert len(journal.state().alive) == journal.events, "what is alive is known whenever it began"


def test_times_do_not_go_back() -> None:
    journal = Journal()
    for time_us in (5, 3, 7, 6):
        journal.event(ALLOC, 4096 * time_us, 512, time_us=time_us)
    assert [entry.time_us for entry in journal.since(0).entries] == [5, 5, 7, 7]
