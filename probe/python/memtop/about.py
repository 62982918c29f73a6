"""What the program is and how its memory is: /v1/info, and what a stream begins with."""

from __future__ import annotations

from .journal import STEP, Journal
from .lease import Lease
from .process import Process
from .program import Info, Json, Program
from .session import Meter
from .viewers import Viewers
from .wire import MINOR, VERSION

_LAST_STEP: Json = {
    "duration_ns": 0, "loss": 0, "device": 0, "allocated_bytes": 0, "peak_allocated_bytes": 0, "peak_reserved_bytes": 0,
    "categories": [],
}  # fmt: skip


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
        """Return what a stream begins with."""
        info = self._program.info()
        return {
            **self._who(info), "minor": MINOR, "devices": [m.device for m in info.devices],
            "interval_ns": round(interval * 1e9), "settings": info.settings, "notices": info.notices,
        }  # fmt: skip

    def _who(self, info: Info) -> Json:
        """Return what /v1/info and hello have in common."""
        who = self._process
        capabilities = ["ndjson", "snapshot", "metrics", *info.capabilities]
        if not info.read_only:
            capabilities.append("control")
        return {
            "version": VERSION, "capabilities": capabilities, "pid": who.pid, "command": info.command or who.command,
            "user": who.user, "host": who.host, "writer": info.writer, "started_us": who.started_us,
            "read_only": info.read_only,
        }  # fmt: skip

    def info(self) -> Json:
        """Return what /v1/info says."""
        info = self._program.info()
        events = self._journal.events
        described = {
            **self._who(info), "step": 0, "viewers": self._viewers.streams, "probe_ns": info.probe_ns,
            "viewers_ns": self._meter.viewers_ns, "dropped_events": self._meter.dropped_events,
            "dropped_steps": self._meter.dropped_steps,
            "devices": [
                {
                    "device": m.device, "allocated_bytes": m.allocated, "reserved_bytes": m.reserved,
                    "events": events if at == 0 else 0,
                    **({} if m.requested is None else {"requested_bytes": m.requested}),
                    **({} if m.out_of_memory is None else {"out_of_memory": m.out_of_memory}),
                }
                for at, m in enumerate(info.devices)
            ],
        }  # fmt: skip
        if holder := self._lease.held():
            described["changing"] = holder
        if info.gauges:
            described["gauges"] = list(info.gauges)
        if steps := self._journal.latest(STEP):
            last = max(steps, key=lambda step: int(step["time_us"]))
            described["step"] = last["step"]
            described["last_step"] = {key: last.get(key, otherwise) for key, otherwise in _LAST_STEP.items()}
        return described
