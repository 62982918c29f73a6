"""The requests about settings: read them, change them, predict a change."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from .answer import Answer, Later, json_answer
from .changes import Changes
from .lease import Lease
from .place import Peer
from .program import Json, Program
from .request import Refusal, Request
from .session import Meter

_WAIT_MAX = 60.0  # the most seconds that a request waits for steps to report its changes
_WAIT_LOOK = 0.05  # seconds between two checks
_KEYS_MAX = 16  # the most settings in a request
_SETTING_MAX = 1024  # the most bytes of a key and its value
_READ_ONLY = "this program's settings cannot be changed from outside: its agent is read-only"


class Settings:
    """Owned by the server's thread, except for the functions that a `Later` calls."""

    def __init__(self, program: Program, changes: Changes, lease: Lease, meter: Meter) -> None:
        self._program = program
        self._changes = changes
        self._lease = lease
        self._meter = meter

    def get(self, request: Request, peer: Peer) -> Answer:
        """Return the settings, and the state of all changes."""
        return json_answer(self._now(None))

    def _now(self, made: Sequence[int] | None) -> Json:
        """Return the settings, with these changes or, for None, with all."""
        changes, _ = self._changes.view()
        settings: Json = {"read_only": self._program.info().read_only}
        if holder := self._lease.held():
            settings["holder"] = holder
        settings["options"] = list(self._program.options())
        settings["changes"] = [change for change in changes if made is None or change["id"] in made]
        return settings

    def post(self, request: Request, peer: Peer) -> Later:
        """Make changes, in the order of their keys."""
        self._check()
        viewer = request.viewer(peer.pid)
        wait = request.duration("wait", 0.0, 0.0, _WAIT_MAX)
        wanted, at = _wanted(request.body)
        self._lease.take(viewer)

        def answer() -> Answer:
            made = [self._changes.make(key, value, at) for key, value in sorted(wanted.items())]
            until = time.monotonic() + wait
            while time.monotonic() < until and not self._changes.settled(made) and not self._meter.ending:
                time.sleep(_WAIT_LOOK)
            return json_answer(self._now(made))

        return Later(answer)

    def predict(self, request: Request, peer: Peer) -> Later:
        """Predict what a change would do, without making it."""
        self._check()
        key, value = request.query.get("key", ""), request.query.get("value", "")
        return Later(lambda: json_answer({"predicted": self._changes.predict(key, value)}))

    def _check(self) -> None:
        if self._program.info().read_only:
            raise Refusal(403, _READ_ONLY)


def _wanted(body: bytes) -> tuple[dict[str, str], int]:
    """Read {"set": {"key": "value", …}, "at": STEP}. Without "at", the step is 0."""
    try:
        request = json.loads(body)
        wanted, at = request["set"], request.get("at", 0)
        if not wanted or not all(isinstance(text, str) for pair in wanted.items() for text in pair):
            raise ValueError
        if type(at) is not int or at < 0:
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Refusal(400, 'the body must be {"set": {"key": "value"}}, and "at" a step') from None
    if any(len(key.encode()) + len(value.encode()) > _SETTING_MAX for key, value in wanted.items()):
        raise Refusal(400, f"a setting may have {_SETTING_MAX} bytes")
    if len(wanted) > _KEYS_MAX:
        raise Refusal(400, f"a request may change {_KEYS_MAX} settings")
    return dict(wanted), at
