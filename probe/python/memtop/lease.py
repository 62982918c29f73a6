"""The lease: one viewer at a time may change settings.

Two viewers that change settings at once would each measure the other's change. The first
viewer that asks while the lease is free holds it. The lease ends when the holder's last stream
ends, so a killed viewer does not block the others. It also ends some time after the holder's last
change, sooner if the holder has no stream.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from .request import Refusal

_ALONE = 2.0  # seconds, for a holder without a stream, which does not measure what its changes do
_STREAMING = 60.0


class Lease:
    """Safe for concurrent use."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._now = now
        self._holder = ""
        self._last = 0.0  # when the holder last changed something
        self._streams: Counter[str] = Counter()  # number of open streams, by viewer

    def take(self, viewer: str) -> None:
        """Give the lease to a viewer, or refuse because another viewer holds it."""
        with self._lock:
            if self._held() not in ("", viewer):
                raise Refusal(
                    409,
                    f"viewer {self._holder} is changing settings: close it or wait until it has been idle for a minute",
                    holder=self._holder,
                )
            self._holder, self._last = viewer, self._now()

    def held(self) -> str:
        """Return the viewer that holds the lease, "" if it is free."""
        with self._lock:
            return self._held()

    def open(self, viewer: str) -> None:
        """Note that a viewer has opened a stream."""
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
