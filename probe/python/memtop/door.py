"""How connections come in: a bounded number of them.

A viewer too many must get an answer, or the program would seem to hang. So a few
more connections are taken, in which every request is answered with "busy". How many
and how often is bounded: a viewer in a loop gets a few hundred answers a second, and
the others wait in the system's queue.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque

_MAX = 128
_TURNED_AWAY_MAX = 16  # connections too many, at a time
_TURN_AWAY_EVERY = 0.1  # seconds, at least, for one of these places
_NO_ROOM = 1.0  # for which no connection is taken when the program has no file to spare
TOO_MANY = f"{_MAX} connections are open, all that the agent takes: close some of its viewers"


class Door:
    """Takes connections while there is room. Owned by the server's thread."""

    def __init__(self, listener: socket.socket, selector: selectors.BaseSelector) -> None:
        self.listener = listener
        self._selector = selector
        self._open = False  # the selector looks for connections
        self._inside = 0
        self._away = 0  # connections too many
        self._places: deque[float] = deque()  # when the places of those that have gone are free again
        self._no_room_until = 0.0

    def due(self) -> float | None:
        """Return when the door may open again by itself."""
        times = [t for t in (self._no_room_until, *list(self._places)[:1]) if t]
        return None if self._open else min(times, default=None)

    def tend(self, ending: bool) -> None:
        """Open or close the door."""
        now = time.monotonic()
        while self._places and self._places[0] <= now:
            self._places.popleft()
        room = self._inside < _MAX or self._away + len(self._places) < _TURNED_AWAY_MAX
        opened = room and now >= self._no_room_until and not ending
        if opened and not self._open:
            self._no_room_until = 0.0
            self._selector.register(self.listener, selectors.EVENT_READ)
        elif self._open and not opened:
            self._selector.unregister(self.listener)
        self._open = opened

    def accept(self) -> tuple[socket.socket, str] | None:
        """Return a connection that waits at the door, and why all its requests are refused, if they are."""
        try:
            accepted, _ = self.listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return None
        except OSError:  # no file or no memory is left
            self._no_room_until = time.monotonic() + _NO_ROOM
            return None
        accepted.setblocking(False)
        refusal = TOO_MANY if self._inside >= _MAX else ""
        if refusal:
            self._away += 1
        else:
            self._inside += 1
        return accepted, refusal

    def left(self, refusal: str) -> None:
        """Note that a connection was closed, which was taken with this refusal."""
        if refusal:
            self._away -= 1
            self._places.append(time.monotonic() + _TURN_AWAY_EVERY)
        else:
            self._inside -= 1
