"""The description of the program and its memory: the answer of /v1/info, and the first message of a stream."""

from __future__ import annotations

from .journal import STEP, Journal
from .lease import Lease
from .process import Process
from .program import Info, Json, Program
from .session import Meter
from .viewers import Viewers
from .wire import MINOR, VERSION

# The fields of a step's message: its time, and its memory if that was measured.
_OF_TIME: Json = {"duration_ns": 0, "device": 0}
_OF_MEMORY: Json = {"allocated_bytes": 0, "peak_allocated_bytes": 0, "peak_reserved_bytes": 0, "categories": []}
_IF_THERE = ("categories_at_peak", "settings")


class About:
    """Owned by the server's thread."""

    def __init__(
        self, program: Program, journal: Journal, process: Process, meter: Meter, viewers: Viewers, lease: Lease
    ) -> None:
        self._program = program
        self._journal = journal
        self._process = process
        self._meter = meter
        self._viewers = viewers
        self._lease = lease

    def hello(self, interval: float) -> Json:
        """Return the first message of a stream."""
        info = self._program.info()
        return {
            **self._who(info), "minor": MINOR, "devices": [m.device for m in info.devices],
            "interval_ns": round(interval * 1e9), "settings": info.settings, "notices": info.notices,
            **({"rehearsed_on": info.rehearsed_on} if info.rehearsed_on else {}),
        }  # fmt: skip

    def _who(self, info: Info) -> Json:
        """Return the fields that /v1/info and hello have in common."""
        who = self._process
        capabilities = ["snapshot", *info.capabilities]
        if not info.read_only:
            capabilities += ["control", "at"]
        return {
            "version": VERSION, "capabilities": capabilities, "pid": who.pid, "command": info.command or who.command,
            "user": who.user, "host": who.host, "writer": info.writer, "started_us": who.started_us,
            "read_only": info.read_only,
            **({} if who.rank is None else {"rank": who.rank._asdict()}),
        }  # fmt: skip

    def info(self) -> Json:
        """Return the answer of /v1/info."""
        info = self._program.info()
        events = self._journal.events
        described = {
            **self._who(info), "step": 0, "viewers": self._viewers.streams, "probe_ns": info.probe_ns,
            "viewers_ns": self._meter.viewers_ns, "dropped_events": self._meter.dropped_events,
            "dropped_steps": self._meter.dropped_steps,
            **({"looking": True} if self._program.looking() else {}),
            "devices": [
                {
                    "device": m.device, "allocated_bytes": m.allocated, "reserved_bytes": m.reserved,
                    "events": events if at == 0 else 0,
                    **({} if m.requested is None else {"requested_bytes": m.requested}),
                    **({} if m.out_of_memory is None else {"out_of_memory": m.out_of_memory}),
                    **({} if m.known_us is None else {"known_us": m.known_us}),
                }
                for at, m in enumerate(info.devices)
            ],
        }  # fmt: skip
        if holder := self._lease.held():
            described["changing"] = holder
        if info.black_box or info.boxless:
            described["black_box"] = {"path": info.black_box, "problem": info.boxless}
        if info.gauges:
            described["gauges"] = list(info.gauges)
        if steps := self._journal.latest(STEP):
            described["step"], described["last_step"] = _last(steps)
        return described


def _last(steps: list[Json]) -> tuple[int, Json]:
    """Return the number of the last step, and what is known about it. Its memory and settings are those of the last
    measured step of its device: not every step is measured."""
    last = max(steps, key=lambda step: int(step["time_us"]))
    device = last.get("device", 0)
    known = [step for step in steps if step.get("device", 0) == device and "peak_allocated_bytes" in step]
    measured = max(known, key=lambda step: int(step["time_us"]), default=last)
    said = {key: last.get(key, otherwise) for key, otherwise in _OF_TIME.items()}
    said.update({key: measured.get(key, otherwise) for key, otherwise in _OF_MEMORY.items()})
    if "loss" in last:  # else it is not known
        said["loss"] = last["loss"]
    said.update({key: step[key] for step in (measured, last) for key in _IF_THERE if key in step})
    return last["step"], said
