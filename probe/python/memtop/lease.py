"""The right of one viewer at a time to change settings.

Two viewers that try things at once would each measure the other's change. The
first viewer that asks while the lease is free holds it. It ends at once when the
holder's last stream does, so that a viewer that is killed blocks no other; and by
itself some time after its last change, sooner for a holder without a stream.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from .request import Refusal

_ALONE = 10.0  # seconds, without a stream
_STREAMING = 60.0


class Lease:
    """Safe for concurrent use."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._now = now
        self._holder = ""
        self._last = 0.0  # when the holder last changed something
        self._streams: Counter[str] = Counter()  # open ones by viewer

    def take(self, viewer: str) -> None:
        """Give the lease to a viewer, or refuse that because another one holds it."""
        with self._lock:
            if self._held() not in ("", viewer):
                raise Refusal(
                    409,
                    f"viewer {self._holder} is changing settings: close it or wait until it has been idle for a minute",
                    holder=self._holder,
                )
            self._holder, self._last = viewer, self._now()

    def held(self) -> str:
        """Return the viewer that holds the lease, an empty text when it is free."""
        with self._lock:
            return self._held()

    def open(self, viewer: str) -> None:
        """Note that a viewer has one more stream."""
        with self._lock:
            self._streams[viewer] += 1

    def close(self, viewer: str) -> None:
        """Note that one of a viewer's streams has ended."""
        with self._lock:
            self._streams[viewer] -= 1
            if self._streams[viewer] > 0:
                return
            del self._streams[viewer]
            if self._holder == viewer:
                self._holder = ""

    def _held(self) -> str:
        patience = _STREAMING if self._streams[self._holder] > 0 else _ALONE
        return self._holder if self._now() < self._last + patience else ""
