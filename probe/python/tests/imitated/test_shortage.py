"""Jobs that run out of memory while they train: what the agent writes is there before the exception, and how the job
goes on is as without memtop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from imitated_job import Ended, Job

GPU = "t4"


def exhausted(job: Job) -> dict[str, Any]:
    job.order("steps 1")
    return job.next("exhausted")


def test_a_job_that_catches_it_goes_on_with_the_batch_that_it_finds_alone(start: Any) -> None:
    alone, job = (start("shortage", "caught", gpu=GPU, watched=watched) for watched in (False, True))
    first, expected = (exhausted(each) for each in (job, alone))
    assert first["batch"] == expected["batch"]
    [row] = job.dead()
    assert row["ended"] == "out of memory" and f"memtop open {row['file']}" in first["text"]
    assert row["asked_bytes"] > 0 and f"{row['asked_bytes'] / 2**30:.2f} GiB" in first["text"]
    for each in (job, alone):
        each.next("stands")
    counted, expected = (each.steps(8) for each in (job, alone))
    assert counted == {**expected, "pid": job.pid, "recording": counted["recording"]}
    assert counted["batch"] < first["batch"]
    assert len(job.dead()) == 1, "one report a minute"
    job.end()


def test_the_report_has_the_lines_that_held_the_memory(start: Any) -> None:
    job = start("shortage", "caught", gpu=GPU)
    exhausted(job)
    [row] = job.dead()
    report = job.report(Path(row["file"]))[0]
    assert report["oom"] and report["allocated_bytes"] == row["allocated_bytes"]
    held = {line["file"].rpartition("/")[2] if "file" in line else line["name"] for line in report["lines_at_peak"]}
    assert any("training.py" in line for line in held), held


def test_a_job_that_does_not_catch_it_ends_as_alone(start: Any) -> None:
    codes = []
    for watched in (False, True):
        job = start("shortage", "uncaught", gpu=GPU, watched=watched)
        exhausted(job)
        codes.append(job.wait())
        assert "OutOfMemoryError" in job.errors()
        assert ("memtop open" in job.errors()) == watched
    assert codes[0] == codes[1] != 0
    [row] = job.dead()
    assert row["ended"] == "out of memory" and row["step"] == 0
    with pytest.raises(Ended):
        job.attach()
