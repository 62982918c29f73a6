"""The server: viewers and the program's answers, on a thread of its own.

One thread serves all. The program and it take turns by Python's global lock, so each
further thread would be one more to take turns with; and one that waits in the system
for a peer, with no time limit while no viewer watches, costs the program nothing.
Only what may take long, which is changing, predicting and a snapshot, gets a thread
while it lasts. Nothing that the program calls waits for any of them.

Signals are blocked in all of them, so that the program's own threads get them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from . import place, process
from .changes import Changes
from .connection import Connection
from .journal import Journal
from .program import Program
from .routes import Routes
from .session import Meter

CONNECTIONS_MAX = 128
_TOO_MANY = f"{CONNECTIONS_MAX} connections are open, all that the agent takes: close some of its viewers"
_TURNED_AWAY_MAX = 16  # connections too many that are answered at a time
_TURN_AWAY_EVERY = 0.1  # seconds, at least, for one of these places
_CLOSE_WITHIN = 1.0  # for viewers to take their last events
_NO_ROOM = 1.0  # how long no connection is taken when the program has no file to spare
_WATCHED_FOR = 60.0  # how long a change that waits for a step counts as a viewer


class Server:
    """Serves a program, once it is started, until it is closed or the process ends.

    Methods are safe for concurrent use.
    """

    def __init__(self, journal: Journal, program: Program, folder: str | None = None) -> None:
        """Make a server whose socket is in the folder, or where viewers look for it."""
        self.path = ""  # of the socket, once there is one
        self._folder = folder or place.folder()
        self._process = process.this()
        self._meter = Meter()
        self._changes = Changes(program, journal, self._wake)
        self._routes = Routes(program, journal, self._changes, self._process, self._meter, self._count_viewers)
        self._program = program
        self._watching = 0
        self._pending_until = 0.0
        self._done: deque[Callable[[], None]] = deque()  # what other threads have for this one
        self._connections: dict[int, Connection] = {}  # by file
        self._away: deque[float] = deque()  # until when the places of connections too many are taken
        self._full_until = 0.0
        self._end = 0.0  # when the server gives up its viewers, 0 while it does not end
        self._listener: socket.socket | None = None
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._accepting = False
        self._thread = threading.Thread(target=self._run, name="memtop", daemon=True)

    def start(self) -> None:
        """Begin to listen. It raises `place.Unsafe` or an OSError where there is no good place for a socket."""
        try:
            self._listener, self.path = place.listen(self._folder, self._process)
        except BaseException:
            self._close_files()
            raise
        _servers.add(self)
        self._thread.start()

    def close(self) -> None:
        """Say goodbye to the viewers and remove the socket. It waits a second at most."""
        if self not in _servers:
            return
        _servers.discard(self)
        _remove(self.path)
        self._meter.ending = True
        self._wake()
        self._thread.join(2 * _CLOSE_WITHIN)

    def refuse(self, reason: str, *keys: str) -> None:
        """Say that the program could not use the changes of these settings that it had taken."""
        self._changes.refuse(reason, keys)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # it has been woken already, or has ended
            self._waker.send(b"\0")

    def _call(self, function: Callable[[], None]) -> None:
        """Have the server's thread call a function."""
        self._done.append(function)
        self._wake()

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while not self._over():
                self._turn()
        finally:
            self._leave()

    def _over(self) -> bool:
        if not self._meter.ending:
            return False
        now = time.monotonic()
        self._end = self._end or now + _CLOSE_WITHIN
        return now >= self._end or not any(c.answering for c in self._connections.values())

    def _turn(self) -> None:
        """Wait for something to happen, and do what there is to do."""
        self._accept_or_not()
        due = self._next()
        timeout = None if due is None else max(0.0, due - time.monotonic())
        for key, events in self._selector.select(timeout):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._woken:
                _drain(self._woken)
            elif events & selectors.EVENT_READ and key.fd in self._connections:
                self._connections[key.fd].read()
        while self._done:
            self._done.popleft()()
        now = time.monotonic()
        for connection in list(self._connections.values()):
            connection.go_on(now)
            self._watch_for(connection)
        self._count_viewers()

    def _next(self) -> float | None:
        """Return when there is something to do without anything happening."""
        times = [t for c in self._connections.values() if (t := c.due()) is not None]
        if not self._accepting:
            times += list(self._away)[:1]
            times += [self._full_until] if self._full_until else []
        if self._changes.pending and self._pending_until:
            times.append(time.monotonic() + 0.25)
        if self._end:
            times.append(self._end)
        return min(times, default=None)

    def _accept_or_not(self) -> None:
        """Listen for connections while there is room for one."""
        now = time.monotonic()
        while self._away and self._away[0] <= now:
            self._away.popleft()
        room = (
            not self._meter.ending
            and now >= self._full_until
            and (self._proper() < CONNECTIONS_MAX or len(self._away) + self._improper() < _TURNED_AWAY_MAX)
        )
        assert self._listener is not None
        if room and not self._accepting:
            self._full_until = 0.0
            self._selector.register(self._listener, selectors.EVENT_READ)
        elif not room and self._accepting:
            self._selector.unregister(self._listener)
        self._accepting = room

    def _proper(self) -> int:
        return len(self._connections) - self._improper()

    def _improper(self) -> int:
        return sum(bool(c.refusal) for c in self._connections.values())

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:  # no file or no memory is left
            self._full_until = time.monotonic() + _NO_ROOM
            return
        accepted.setblocking(False)
        refusal = _TOO_MANY if self._proper() >= CONNECTIONS_MAX else ""
        connection = Connection(accepted, self._routes, self._call, refusal)
        self._connections[accepted.fileno()] = connection
        self._selector.register(accepted, selectors.EVENT_READ)

    def _watch_for(self, connection: Connection) -> None:
        """Have the selector look for what the connection waits for."""
        if connection.closed:
            self._forget(connection)
        elif connection.wants != connection.watched:
            if connection.watched:
                self._selector.unregister(connection.socket)
            if connection.wants:
                self._selector.register(connection.socket, connection.wants)
            connection.watched = connection.wants

    def _forget(self, connection: Connection) -> None:
        file = connection.socket.fileno()
        if connection.watched:
            self._selector.unregister(connection.socket)
        del self._connections[file]
        connection.close()
        with contextlib.suppress(OSError):  # the peer has gone
            connection.socket.shutdown(socket.SHUT_RDWR)  # a forked child may have it too
        connection.socket.close()
        if connection.refusal:
            self._away.append(time.monotonic() + _TURN_AWAY_EVERY)

    def _count_viewers(self) -> None:
        """Tell the program how many viewers watch, when that has changed."""
        count, now = self._routes.viewers, time.monotonic()
        if not self._changes.pending:
            self._pending_until = 0.0
        else:
            self._pending_until = self._pending_until or now + _WATCHED_FOR
            if now < self._pending_until:
                self._changes.view()
                count += self._changes.pending
        self._tell(count)

    def _tell(self, count: int) -> None:
        if count != self._watching:
            self._watching = count
            with contextlib.suppress(Exception):  # a fault of watching must not end the serving
                self._program.on_viewers(count)

    def _leave(self) -> None:
        for connection in list(self._connections.values()):
            self._forget(connection)
        self._tell(0)
        self._close_files()

    def _close_files(self) -> None:
        self._selector.close()
        for file in (self._listener, self._woken, self._waker):
            if file is not None:
                file.close()

    def _abandon(self) -> None:
        """Close what a forked child has of the server, which goes on in its parent.

        The files are only closed: the selector's list is shared with the parent.
        """
        for connection in self._connections.values():
            connection.socket.close()
        self._connections.clear()
        self._close_files()


def _drain(woken: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while woken.recv(4096):
            pass


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # it is gone, or its folder is
        os.unlink(path)


_servers: weakref.WeakSet[Server] = weakref.WeakSet()  # that run in this process


def _close_all() -> None:
    for server in list(_servers):
        server.close()


def _abandon_all() -> None:
    for server in list(_servers):
        _servers.discard(server)
        server._abandon()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_abandon_all)
