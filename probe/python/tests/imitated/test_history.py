"""The allocator's history: the program's stays the program's, and an allocator that cannot record goes on."""

from __future__ import annotations

from typing import Any

from test_kinds import configured, until

ENTRIES = 100  # as jobs/recording.py


def test_a_history_that_the_program_records_stays_the_programs(start: Any) -> None:
    alone, job = (start("recording", watched=watched) for watched in (False, True))
    expected = alone.steps(5)
    assert expected["entries"] == ENTRIES
    job.steps(5)
    with job.viewed():
        until(job, "a look", lambda counted: counted["hooks"] > 0)
        allocated = expected["devices"]["0"]["allocated_bytes"]
        until(job, "the state", lambda _: job.attach()["allocated_bytes"] == allocated)
    counted = until(job, "the agent has left", lambda counted: not counted["hooks"])
    assert counted["recording"]
    assert (counted["entries"], counted["stacks"]) == (ENTRIES, expected["stacks"])
    job.exhaust()
    assert job.steps(1)["recording"]
    job.end()


def test_an_allocator_that_cannot_be_asked_is_named_and_the_job_goes_on(start: Any) -> None:
    environment = configured("backend:cudaMallocAsync")
    alone, job = (start("plain", watched=watched, environment=environment) for watched in (False, True))
    expected = alone.steps(50)
    assert job.steps(50) == {**expected, "pid": job.pid}
    with job.viewed():
        until(job, "a viewer", lambda counted: counted["step"] > 60)
        said = job.memtop("attach", job.pid, "--once")
        assert "the allocator cudaMallocAsync does not report" in " ".join(said.split())
    job.go()
    assert job.set("amp=bf16")["change"] == {"amp": ["off", "bf16"]}
    assert job.set("amp=off")["change"] == {"amp": ["bf16", "off"]}
    job.stand()
    job.exhaust()
    assert job.dead() == []
    assert job.end()["losses"] == expected["losses"]
