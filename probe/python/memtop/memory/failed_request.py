"""A failed request: what the agent knows of it is written into PyTorch's own snapshot, right when the request fails, so
that memtop reports on it as on any snapshot.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

import torch

from ..link.program import Json
from ..link.tables import Tables
from .registry import OTHER, Holding
from .stacks import OWN

SCHEMA = "memtop.dead/1"
DEEPEST = 64  # the most frames of a stack
# PyTorch's function in which a thread waits for a backward pass; older versions have none.
_BACKWARD = getattr(getattr(torch.autograd.graph, "_engine_run_backward", None), "__code__", None)


class Request(NamedTuple):
    """A failed request, in bytes, and the driver's memory at that time."""

    device: int
    asked: int  # of the driver: the segment that would hold what the program asked for
    free: int
    total: int
    frames: list[dict[str, Any]]  # innermost first, in PyTorch's form


def frames_of(frame: FrameType | None) -> list[dict[str, Any]]:
    """Return a frame's stack in PyTorch's form, without the agent's own frames."""
    frames: list[dict[str, Any]] = []
    while frame is not None and len(frames) < DEEPEST:
        code = frame.f_code
        if not code.co_filename.startswith(OWN):
            frames.append({"filename": code.co_filename, "line": frame.f_lineno or 0, "name": code.co_name})
        frame = frame.f_back
    return frames


def asker() -> FrameType | None:
    """Return the innermost frame that asks for memory in this thread, None if it is not known. PyTorch runs backward
    passes in threads of its own, which have no Python frames: for those, it is the frame that called `backward`, where
    the exception will be raised, if just one thread waits for one."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    if frame is not None:
        return frame
    waiting = [frame for frame in sys._current_frames().values() if frame.f_code is _BACKWARD]
    return waiting[0] if len(waiting) == 1 else None


def write_request(contents: Mapping[str, Any], request: Request) -> None:
    """Add the request to a snapshot's history, if the allocator has not done so. The history has the size that the
    program asked for, the request that of the segment which would hold it, so the driver's free memory tells it."""
    traces = contents["device_traces"]
    while len(traces) <= request.device:
        traces.append([])
    trace = traces[request.device]
    failed = (e for e in reversed(trace[-16:]) if e["action"] == "oom" and e["device_free"] == request.free)
    event = next(failed, None)
    if event is None:
        event = {"action": "oom", "device_free": request.free, "size": request.asked, "stream": 0}
        event["time_us"] = time.time_ns() // 1000
        trace.append(event)
    if not event.get("frames"):
        event["frames"] = request.frames


def write_notes(contents: Mapping[str, Any], holdings: Sequence[Holding], tables: Tables) -> None:
    """Add the notes of live memory to its blocks, and to the events that allocated them. A block that has no stack,
    because the history was off when it was made, gets the line that keeps it alive, where one is known.

    If one event has a category, PyTorch's viewer needs these keys in all of them.
    """
    notes = {holding.address: note_of_holding(holding) for holding in holdings}
    stacks = {holding.address: holding.stack for holding in holdings if holding.stack}
    strings = tables.strings.entries
    for block in blocks_of(contents):
        block.update(notes.get(block["address"], {}))
        if not block.get("frames") and block["address"] in stacks:
            lines = [tables.frames.entries[number] for number in tables.stacks.entries[stacks[block["address"]]]]
            block["frames"] = [
                {"filename": strings[line.file], "line": line.line, "name": strings[line.function]} for line in lines
            ]
    for trace in contents["device_traces"]:
        left = dict(notes)
        for event in reversed(trace):
            note = left.pop(event.get("addr"), {}) if event["action"] == "alloc" else {}
            event.update(note if "category" in note else {**note, "category": "unknown", "noted_category": ""})


def account(contents: Mapping[str, Any], request: Request) -> Json:
    """Return the answer that `memtop ls --dead` lists. The rest of the report is in the snapshot."""
    segments = [s for s in contents["segments"] if s["device"] == request.device]
    return {
        "schema": SCHEMA,
        "device": request.device,
        "asked_bytes": request.asked,
        "free_bytes": request.free,
        "allocator_settings": contents.get("allocator_settings") or {},
        "allocated_bytes": sum(s["allocated_size"] for s in segments),
        "reserved_bytes": sum(s["total_size"] for s in segments),
    }


def blocks_of(contents: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a snapshot that are in use."""
    for segment in contents["segments"]:
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                yield block


def note_of_holding(holding: Holding, category: str = "category") -> dict[str, str]:
    """Return what is known of a holding. PyTorch's viewer fails on a file in which some events have a key "category"
    and others do not."""
    note = {
        category: holding.category, "layer": holding.layer, "role": holding.role, "shape": holding.shape,
        "dtype": holding.dtype,
    }  # fmt: skip
    return {key: value for key, value in note.items() if value and (key, value) != (category, OTHER)}
