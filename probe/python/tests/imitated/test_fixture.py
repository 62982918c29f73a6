"""A plain job on the imitated GPU: what memtop says of a moment is what the job counts at that moment."""

from __future__ import annotations

from typing import Any

DEVICE = "0"


def test_what_memtop_says_of_a_moment_is_what_the_job_counts(start: Any) -> None:
    job = start("plain")
    job.attach()
    job.stand()
    counted = job.steps(20)
    [row] = job.listed()
    state = job.attach()
    report = job.report(job.snapshot())[0]
    device = counted["devices"][DEVICE]
    for name in ("allocated_bytes", "reserved_bytes"):
        assert row[name] == state[name] == report[name] == device[name], name
    assert report["requested_bytes"] == device["requested_bytes"]
    job.go()
    assert job.end()["hooks"] == 0
