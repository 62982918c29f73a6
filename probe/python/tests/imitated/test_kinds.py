"""Kinds of CUDA jobs: what memtop says of a moment is what the job counts at that moment, and the job goes on as
without memtop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from imitated_job import PATIENCE, Job, Refused

from memtop.hooks.graphs import SHOWN

HELD = ("parameter", "gradient", "optimizer")
SUMS = ("allocated_bytes", "reserved_bytes")


@dataclass
class Kind:
    """A kind of job: its script, and which settings take effect in it."""

    command: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ("checkpoint", "amp")


def configured(value: str) -> dict[str, str]:
    return {"PYTORCH_CUDA_ALLOC_CONF": value, "PYTORCH_ALLOC_CONF": value}


KINDS = {
    "plain": Kind(("plain",)),
    "expandable": Kind(("plain",), {"environment": configured("expandable_segments:True")}),
    "graphs": Kind(("graphs",), keys=()),  # a graph that is replayed calls no module
    "devices": Kind(("devices",), {"gpus": 2}),
    "streams": Kind(("streams",)),
    "compiled": Kind(("compiled",), keys=()),
    "ddp": Kind(("ranks", "ddp"), {"ranks": 2}),
    "fsdp2": Kind(("ranks", "fsdp2"), {"ranks": 2}, keys=()),  # it frees parameters between layers
    "fork": Kind(("loaders", "fork")),
    "spawn": Kind(("loaders", "spawn")),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_job_is_seen_as_it_is_and_goes_on_as_alone(name: str, start: Any) -> None:
    kind = KINDS[name]
    alone, job = (start(*kind.command, **kind.options, watched=watched, begin=False) for watched in (False, True))
    for each in (alone, job):
        each.begin()
        if name == "graphs":
            counted = each.next("captures")
            if each is job:
                check_counts(job, counted)
                assert attached(job, counted) == sums(counted)
            each.go()
    expected = alone.steps(20)
    assert same(job.steps(20)) == same(expected)
    check_categories(job)
    counted = until(job, "the agent has left", lambda counted: not counted["recording"] and not counted["hooks"])
    check_counts(job, counted)
    check_settings(job, kind, counted)
    check_out_of_memory(job)
    assert held(job.end()) == held(alone.end()) == held(expected)


def same(counted: dict[str, Any]) -> dict[str, Any]:
    """Return all that must be the same without memtop: the losses, and every number of PyTorch's allocator."""
    return {name: value for name, value in counted.items() if name not in ("pid", "recording")}


def held(counted: dict[str, Any]) -> dict[str, Any]:
    return {name: counted[name] for name in (*HELD, "losses")}


def until(job: Job, what: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Let a standing job make steps, one by one, until what it counts is as wanted; return that."""
    end = time.monotonic() + PATIENCE
    while not holds(counted := job.steps(1)):
        assert time.monotonic() < end, f"{what}: the last is {counted}"
    return counted


def check_counts(job: Job, counted: dict[str, Any]) -> None:
    """Compare the sums that memtop says of this moment, in two ways, with PyTorch's counters."""
    rows = {str(row["device"]): row for row in job.listed() if row["pid"] == job.pid}
    reports = {str(device): report for device, report in job.report(job.snapshot()).items()}
    for device, numbers in counted["devices"].items():
        for name in SUMS:
            assert rows[device][name] == reports[device][name] == numbers[name], (device, name)
        for name in ("active_bytes", "requested_bytes"):
            assert reports[device][name] == numbers[name], (device, name)


def sums(counted: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return PyTorch's counters that memtop says too, by device."""
    return {device: {name: numbers[name] for name in SUMS} for device, numbers in counted["devices"].items()}


def attached(job: Job, counted: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return what `memtop attach` says of the same."""
    states = {device: job.attach("--device", device) for device in counted["devices"]}
    return {device: {name: state[name] for name in SUMS} for device, state in states.items()}


def check_categories(job: Job) -> None:
    """While a viewer watches, there is soon a step after which sums and categories are those that the job counts."""
    differences = []

    def agree(counted: dict[str, Any]) -> bool:
        states = [job.attach("--device", device) for device in counted["devices"]]
        says = {name: sum(state["categories"][name] for state in states) for name in HELD}
        found = [{name: state[name] for name in SUMS} for state in states]
        differences.append(((says, found), ({name: counted[name] for name in HELD}, [*sums(counted).values()])))
        return differences[-1][0] == differences[-1][1]

    with job.viewed():
        job.looked()
        try:
            until(job, "categories", agree)
        except AssertionError:
            raise AssertionError(f"memtop says, the job counts: {differences[-1:]}") from None


def check_settings(job: Job, kind: Kind, before: dict[str, Any]) -> None:
    """Change settings and undo them, while the job makes steps. Then it holds what it held before."""
    job.go()
    for key, value in (("checkpoint", "all"), ("amp", "bf16")):
        if key in kind.keys and (SHOWN or key != "checkpoint"):
            changed = again(job, f"{key}={value}")
            assert changed["change"] == {key: ["off", value]}
            assert job.set(f"{key}=off")["change"] == {key: [value, "off"]}
        else:
            with pytest.raises(Refused):
                again(job, f"{key}={value}")
    job.stand()
    after = until(job, "the agent has left", lambda counted: not counted["recording"] and not counted["hooks"])
    assert held(after) == held(before)
    for device, numbers in after["devices"].items():
        assert numbers["allocated_bytes"] == before["devices"][device]["allocated_bytes"]
        assert numbers["out_of_memory"] == 0


def again(job: Job, value: str) -> dict[str, Any]:
    """Change a setting; try again while no step has been measured."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return job.set(value)
        except Refused as reason:  # noqa: PERF203 # each try takes a whole program
            if "try again" not in str(reason) or time.monotonic() > end:
                raise


def check_out_of_memory(job: Job) -> None:
    """Let a request fail that the job catches. What the agent wrote of it is what the job counts."""
    before = job.steps(1)
    said = job.exhaust()
    [row] = [row for row in job.dead() if row["pid"] == job.pid]
    assert f"memtop open {row['file']}" in said["text"]
    assert row["asked_bytes"] >= said["asked"]
    [device] = [device for device in before["devices"] if int(device) == row["device"]]
    assert row["allocated_bytes"] == before["devices"][device]["allocated_bytes"]
    assert job.report(Path(row["file"]))[row["device"]]["allocated_bytes"] == row["allocated_bytes"]
