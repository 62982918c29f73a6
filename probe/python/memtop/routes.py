"""What each request of docs/protocol.md is answered with."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

from . import metrics
from .answer import Answer, json_answer
from .changes import Changes
from .checksum import CHECKSUMS
from .journal import STEP, Journal
from .lease import Lease
from .lines import CONTENT_TYPE as NDJSON
from .lines import Lines
from .place import Peer
from .process import Process
from .program import Info, Json, Program
from .request import Refusal, Request
from .session import INTERVAL, INTERVAL_MAX, INTERVAL_MIN, Meter, Session
from .shared import Shared
from .viewers import Viewers
from .wire import MINOR, VERSION, Frames

_SNAPSHOTS_MAX = 2  # at a time
_SNAPSHOT_WAIT = 5.0  # seconds, for one of these places
_WAIT_MAX = 60.0  # for steps to show changes
_WAIT_LOOK = 0.05
_SETTINGS_MAX = 16  # of a request
_SETTING_MAX = 1024  # bytes of key and value
_READ_ONLY = "this program's settings cannot be changed from outside: its agent is read-only"


@dataclass
class Later:
    """An answer that takes a while: it is made on a thread of its own, and then the server's calls done."""

    answer: Callable[[], Answer]
    done: Callable[[], None] = lambda: None


Handler = Callable[[Request, Peer], Union[Answer, Later]]


class Routes:
    """Owned by the server's thread, but for what a `Later` calls."""

    def __init__(
        self,
        program: Program,
        journal: Journal,
        changes: Changes,
        process: Process,
        meter: Meter,
        viewers: Viewers,
    ) -> None:
        self.meter = meter
        self._program = program
        self._journal = journal
        self._changes = changes
        self._process = process
        self._viewers = viewers
        self._lease = Lease()
        self._shared = Shared()
        self._saving = threading.BoundedSemaphore(_SNAPSHOTS_MAX)
        self._handlers: dict[str, dict[str, Handler]] = {
            "/v1/info": {"GET": self._info},
            "/v1/stream": {"GET": self._stream},
            "/v1/snapshot": {"GET": self._snapshot},
            "/v1/settings": {"GET": self._settings, "POST": self._set},
            "/v1/prediction": {"GET": self._prediction},
            "/metrics": {"GET": self._metrics},
        }

    def admit(self, peer: Peer) -> None:
        """Refuse peers of other users than the program's and root."""
        if peer.user not in (os.geteuid(), 0):
            raise Refusal(
                403,
                f"the program belongs to user {os.geteuid()} and you are user {peer.user}: ask as that user or as root",
            )

    def answer(self, request: Request, peer: Peer) -> Answer | Later:
        """Return the answer to a request, or raise a `Refusal`."""
        methods = self._handlers.get(request.path)
        if methods is None:
            raise Refusal(404, f"there is nothing at {json.dumps(request.path)}: see docs/protocol.md")
        handler = methods.get(request.method)
        if handler is None:
            allowed = sorted(methods)
            raise Refusal(405, f"{request.path} takes {' and '.join(allowed)}", {"Allow": ", ".join(allowed)})
        return handler(request, peer)

    def _hello(self, info: Info) -> Json:
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

    def _describe(self) -> Json:
        """Return what /v1/info says."""
        info = self._program.info()
        events = self._journal.events
        described = {
            **self._hello(info), "step": 0, "viewers": self._viewers.streams, "probe_ns": info.probe_ns,
            "viewers_ns": self.meter.viewers_ns, "dropped_events": self.meter.dropped_events,
            "dropped_steps": self.meter.dropped_steps,
            "devices": [
                {
                    "device": m.device, "allocated_bytes": m.allocated, "reserved_bytes": m.reserved,
                    "events": events if at == 0 else 0,
                    **({} if m.requested is None else {"requested_bytes": m.requested}),
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

    def _info(self, request: Request, peer: Peer) -> Answer:
        return json_answer(self._describe())

    def _metrics(self, request: Request, peer: Peer) -> Answer:
        format = metrics.negotiate(request.headers.get("accept"))
        headers = {"Content-Type": metrics.content_type(format), "Vary": "Accept"}
        return Answer(200, headers, metrics.write(self._describe(), format))

    def _stream(self, request: Request, peer: Peer) -> Answer:
        viewer = request.viewer(peer.pid)
        interval = request.duration("interval", INTERVAL, INTERVAL_MIN, INTERVAL_MAX)
        self._check_running()
        info = self._program.info()
        hello = {
            **self._hello(info), "minor": MINOR, "devices": [m.device for m in info.devices],
            "interval_ns": round(interval * 1e9), "settings": info.settings,
        }  # fmt: skip
        encoder = Lines() if NDJSON in request.headers.get("accept", "") else Frames(_checksum(request))
        session = Session(
            self._program, self._journal, self._changes, self.meter, self._shared, hello, encoder, interval
        )
        self._viewers.enter()
        self._lease.open(viewer)

        def done() -> None:
            self._viewers.leave()
            if not self._viewers.streams:
                self._shared.clear()
            self._lease.close(viewer)

        return Answer(200, {"Content-Type": encoder.content_type}, session.run(), done)

    def _snapshot(self, request: Request, peer: Peer) -> Later:
        self._check_running()

        def answer() -> Answer:
            if not self._saving.acquire(timeout=_SNAPSHOT_WAIT):
                raise Refusal(503, f"{_SNAPSHOTS_MAX} snapshots are being written already: try again in a moment")
            try:
                data = self._program.snapshot()
            except BaseException:
                self._saving.release()
                raise
            name = f"memtop-{self._process.pid}.pickle"
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
            return Answer(200, headers, data, self._saving.release)

        self._viewers.begin_snapshot()
        return Later(answer, self._viewers.end_snapshot)

    def _settings(self, request: Request, peer: Peer) -> Answer:
        return json_answer(self._settings_now(None))

    def _settings_now(self, made: Sequence[int] | None) -> Json:
        """Return the settings with these changes, or with all."""
        changes, _ = self._changes.view()
        settings: Json = {"read_only": self._program.info().read_only}
        if holder := self._lease.held():
            settings["holder"] = holder
        settings["options"] = list(self._program.options())
        settings["changes"] = [change for change in changes if made is None or change["id"] in made]
        return settings

    def _set(self, request: Request, peer: Peer) -> Later:
        self._check_changing()
        viewer = request.viewer(peer.pid)
        wait = request.duration("wait", 0.0, 0.0, _WAIT_MAX)
        wanted = _wanted(request.body)
        self._lease.take(viewer)

        def answer() -> Answer:
            made = [self._changes.make(key, value) for key, value in sorted(wanted.items())]
            until = time.monotonic() + wait
            while time.monotonic() < until and not self._changes.settled(made) and not self.meter.ending:
                time.sleep(_WAIT_LOOK)
            return json_answer(self._settings_now(made))

        return Later(answer)

    def _prediction(self, request: Request, peer: Peer) -> Later:
        self._check_changing()
        key, value = request.query.get("key", ""), request.query.get("value", "")
        return Later(lambda: json_answer({"predicted": self._changes.predict(key, value)}))

    def _check_changing(self) -> None:
        if self._program.info().read_only:
            raise Refusal(403, _READ_ONLY)
        self._check_running()

    def _check_running(self) -> None:
        if self.meter.ending:
            raise Refusal(503, "the program is ending")


_LAST_STEP: Json = {
    "duration_ns": 0, "loss": 0, "device": 0, "peak_allocated_bytes": 0, "peak_reserved_bytes": 0, "categories": [],
}  # fmt: skip


def _checksum(request: Request) -> str:
    """Return the checksum that the viewer would like, if there is that one."""
    wish = request.query.get("checksum", "")
    return wish if wish in CHECKSUMS else "crc32c"


def _wanted(body: bytes) -> dict[str, str]:
    """Read {"set": {"key": "value", …}}."""
    try:
        wanted = json.loads(body)["set"]
        if not wanted or not all(isinstance(text, str) for pair in wanted.items() for text in pair):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Refusal(400, 'the body must be {"set": {"key": "value"}}') from None
    if any(len(key.encode()) + len(value.encode()) > _SETTING_MAX for key, value in wanted.items()):
        raise Refusal(400, f"a setting may have {_SETTING_MAX} bytes")
    if len(wanted) > _SETTINGS_MAX:
        raise Refusal(400, f"a request may change {_SETTINGS_MAX} settings")
    return dict(wanted)
