"""The answer to each request of docs/protocol.md."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Union

from .about import About
from .answer import Answer, Later, json_answer
from .changes import Changes
from .checksum import CHECKSUMS
from .journal import Journal
from .lease import Lease
from .place import Peer
from .process import Process
from .program import Program
from .request import Refusal, Request
from .session import INTERVAL, INTERVAL_MAX, INTERVAL_MIN, Meter, Session
from .settings import Settings
from .shared import Shared
from .viewers import Viewers
from .wire import Frames

_SNAPSHOTS_MAX = 2  # at a time
_SNAPSHOT_WAIT = 5.0  # seconds to wait for one of these places


Handler = Callable[[Request, Peer], Union[Answer, Later]]


class Routes:
    """Owned by the server's thread, except for the functions that a `Later` calls."""

    def __init__(
        self,
        program: Program,
        journal: Journal,
        changes: Changes,
        process: Process,
        meter: Meter,
        viewers: Viewers,
        shared: Shared,
    ) -> None:
        self.meter = meter
        self._program = program
        self._journal = journal
        self._changes = changes
        self._pid = process.pid
        self._viewers = viewers
        self._lease = Lease()
        self._about = About(program, journal, process, meter, viewers, self._lease)
        self._settings = Settings(program, changes, self._lease, meter)
        self._shared = shared
        self._saving = threading.BoundedSemaphore(_SNAPSHOTS_MAX)
        self._handlers: dict[str, dict[str, Handler]] = {
            "/v1/info": {"GET": self._info},
            "/v1/stream": {"GET": self._stream},
            "/v1/snapshot": {"GET": self._snapshot},
            "/v1/settings": {"GET": self._settings.get, "POST": self._settings.post},
            "/v1/prediction": {"GET": self._settings.predict},
        }

    def admit(self, peer: Peer) -> None:
        """Refuse peers of other users, except root."""
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

    def session(self, encoder: Frames, shared: Shared, interval: float) -> Session:
        """Return a session that begins now. Any thread may call this."""
        hello = self._about.hello(interval)
        return Session(self._program, self._journal, self._changes, self.meter, shared, hello, encoder, interval)

    def _info(self, request: Request, peer: Peer) -> Answer:
        return json_answer(self._about.info())

    def _stream(self, request: Request, peer: Peer) -> Answer:
        viewer = request.viewer(peer.pid)
        interval = request.duration("interval", INTERVAL, INTERVAL_MIN, INTERVAL_MAX)
        encoder = Frames(_checksum(request))
        session = self.session(encoder, self._shared, interval)
        self._viewers.enter()
        self._lease.open(viewer)

        def done() -> None:
            self._viewers.leave()
            if not self._viewers.streams:
                self._shared.clear()
            self._lease.close(viewer)

        return Answer(200, {"Content-Type": encoder.content_type}, session.run(), done)

    def _snapshot(self, request: Request, peer: Peer) -> Later:
        if self.meter.ending:
            raise Refusal(503, "the program is ending")

        def answer() -> Answer:
            if not self._saving.acquire(timeout=_SNAPSHOT_WAIT):
                raise Refusal(503, f"{_SNAPSHOTS_MAX} snapshots are being written already: try again in a moment")
            try:
                data = self._program.snapshot()
            except BaseException:
                self._saving.release()
                raise
            name = f"memtop-{self._pid}.pickle"
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
            return Answer(200, headers, data, self._saving.release)

        self._viewers.begin_snapshot()
        return Later(answer, self._viewers.end_snapshot)


def _checksum(request: Request) -> str:
    """Return the checksum that the viewer asks for, or the default if there is no such checksum."""
    wish = request.query.get("checksum", "")
    return wish if wish in CHECKSUMS else "crc32c"
