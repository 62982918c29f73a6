"""The allocator's history: the program's stays the program's, and an allocator that cannot record goes on."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from test_kinds import configured, until

ENTRIES = 100  # as jobs/recording.py
ENDED_ELSEWHERE = """
import sys, threading, torch
sys.path.insert(0, sys.argv[1])
from memtop.memory.history import History
torch.ones(1, device="cuda")
history = History()
for _ in range(3):
    history.on("a look")
    other = threading.Thread(target=history.off, args=("a look",))
    other.start()
    other.join()
history.on("a look")
with torch.profiler.record_function("a range"):
    pass
print(sum(each["stage"] == "START" for each in torch.cuda.memory._snapshot()["external_annotations"]))
history.off("a look")
"""


def test_a_history_that_another_thread_ends_leaves_nothing() -> None:
    arguments = inspect.signature(torch.cuda.memory._record_memory_history).parameters
    if "global_record_annotations" not in arguments:
        pytest.skip(f"PyTorch {torch.__version__} does not say on which threads it notes ranges")
    script = [sys.executable, "-c", ENDED_ELSEWHERE, str(Path(__file__).parents[2])]
    done = subprocess.run(script, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")  # one note of the range: what was left would note it again


def test_a_history_that_the_program_records_stays_the_programs(start: Any) -> None:
    alone, job = (start("recording", watched=watched) for watched in (False, True))
    expected = alone.steps(5)
    assert expected["entries"] == ENTRIES
    job.steps(5)
    with job.viewed():
        until(job, "a look", lambda counted: counted["hooks"] > 0)
        job.looked()
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
