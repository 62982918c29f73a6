"""Accepting connections, up to a limit.

A viewer beyond the limit must get an answer, or the program would seem to hang. So a few more
connections are accepted, and every request on them is answered with "busy". Their number and their
rate are limited too: a viewer that retries in a loop gets a few hundred answers a second, and the rest
wait in the system's queue.
"""

from __future__ import annotations

import time
from collections import deque

from .descriptors import Lost, Socket, share

_MAX = 144  # connections in all, if a quarter of what the process may open are so many
_AWAY = 9  # one in so many is kept for those beyond the limit
_TURN_AWAY_EVERY = 0.1  # seconds before the place of such a connection is free again
_NO_ROOM = 1.0  # seconds without accepting, when the program has no file descriptor left
TOO_MANY = "as many connections are open as the agent takes of this program: close some of its viewers"


class Door:
    """Accepts connections while there is room. Owned by the server's thread."""

    def __init__(self, listener: Socket) -> None:
        self.listener = listener
        self.open = False  # whether to wait for connections
        self._inside = 0
        self._away = 0  # open connections beyond the limit
        self._places: deque[float] = deque()  # when the places of closed connections beyond the limit are free again
        self._no_room_until = 0.0

    def due(self) -> float | None:
        """Return when the door may open again without another event."""
        times = [t for t in (self._no_room_until, *list(self._places)[:1]) if t]
        return None if self.open else min(times, default=None)

    def tend(self) -> None:
        """Open or close the door, as there is room."""
        now = time.monotonic()
        while self._places and self._places[0] <= now:
            self._places.popleft()
        most, away = _limits()
        room = self._inside < most or self._away + len(self._places) < away
        self.open = room and now >= self._no_room_until

    def accept(self) -> tuple[Socket, str] | None:
        """Return a waiting connection, and the text with which all its requests are refused, "" if they are not."""
        try:
            accepted = self.listener.accept()
        except (Lost, BlockingIOError, ConnectionAbortedError):
            self.listener.check()
            return None
        except OSError:  # no file descriptor or no memory is left
            self._no_room_until = time.monotonic() + _NO_ROOM
            return None
        refusal = TOO_MANY if self._inside >= _limits()[0] else ""
        if refusal:
            self._away += 1
        else:
            self._inside += 1
        return accepted, refusal

    def left(self, refusal: str) -> None:
        """Note that a connection was closed. `refusal` is what `accept` returned for it."""
        if refusal:
            self._away -= 1
            self._places.append(time.monotonic() + _TURN_AWAY_EVERY)
        else:
            self._inside -= 1


def _limits() -> tuple[int, int]:
    """Return how many connections are taken, and how many beyond them."""
    most = max(2, min(_MAX, share(4)))
    away = max(1, most // _AWAY)
    return most - away, away
