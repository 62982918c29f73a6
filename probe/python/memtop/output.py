"""The bytes that wait to be sent to a peer."""

from __future__ import annotations

import socket
from collections import deque
from itertools import islice

from .descriptors import Socket

AHEAD = 64 << 10  # bytes that are made before any is sent
_AT_ONCE = 64  # pieces for one system call
# In a program that SIGPIPE ends, a viewer that leaves must not cause that signal.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


class Output:
    """Sends without blocking. Owned by the server's thread."""

    def __init__(self, peer: Socket) -> None:
        self._peer = peer
        self._data: deque[memoryview] = deque()
        self.blocked = False  # the peer must read before more can be sent

    @property
    def waiting(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._data)

    def add(self, data: bytes) -> None:
        """Add data to be sent."""
        if data:
            self._data.append(memoryview(data))

    def send(self) -> bool:
        """Send as much as the peer takes. Report whether any byte was sent."""
        sent = self.blocked = False
        while self._data:
            try:
                count = self._peer.own.sendmsg(islice(self._data, _AT_ONCE), (), _NO_SIGNAL)
            except BlockingIOError:
                self.blocked = True
                break
            sent = True
            self._took(count)
        return sent

    def _took(self, count: int) -> None:
        while count:
            first = self._data[0]
            if count < len(first):
                self._data[0] = first[count:]
                return
            count -= len(first)
            self._data.popleft()
