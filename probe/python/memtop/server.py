"""The server: it answers viewers on a thread of its own.

One thread serves all viewers. It takes turns with the program under Python's global lock, and each further
thread would take turns too. A thread that waits for a peer in a system call costs the program nothing,
and without viewers it waits without a time limit. Only requests that may take long, which are changes,
predictions and snapshots, get a thread each. The program never waits for any of these threads.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from . import place, process
from .blackbox import BlackBox
from .changes import Changes
from .connection import Connection
from .door import Door
from .journal import Journal
from .program import Program
from .routes import Routes
from .session import Meter
from .shared import Shared
from .threads import start
from .viewers import Viewers

_CLOSE_WITHIN = 1.0  # seconds, for viewers to take their last events


class Task(Protocol):
    """What the server's thread does now and then. It needs no lock for that."""

    def due(self) -> float | None:
        """Return when to call `tend`, by the monotonic clock; None for never."""
        ...

    def tend(self) -> None:
        """Do what is due."""
        ...


class Server:
    """Serves a program from `start` until `close` or the end of the process.

    Methods are safe for concurrent use.
    """

    def __init__(self, journal: Journal, program: Program, folder: str | None = None) -> None:
        """Make a server whose socket will be in the folder, by default the one in which viewers look."""
        self.path = ""  # of the socket, "" before `start`
        self._folder = folder or place.folder()
        self._process = process.this()
        self._journal = journal
        self._meter = Meter()
        self._changes = Changes(program, journal, self.wake)
        self._viewers = Viewers(program, self._changes)
        self._shared = Shared()
        self._routes = Routes(program, journal, self._changes, self._process, self._meter, self._viewers, self._shared)
        self.box = BlackBox(journal, self._routes.session, self._shared)
        self.tasks: list[Task] = [self.box]
        self._done: deque[Callable[[], None]] = deque()  # functions that other threads want this one to call
        self._connections: dict[int, Connection] = {}  # by file descriptor
        self._end = 0.0  # when the server stops waiting for its viewers, 0 while it is not ending
        self._thread = 0  # the server's, 0 before it runs
        self._ended = threading.Event()  # that thread has ended

    def start(self) -> None:
        """Begin to listen. It raises `place.Unsafe` or an OSError if no socket can be made."""
        listener, self.path = place.listen(self._folder, self._process)
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._door = Door(listener, self._selector)
        _servers.add(self)
        try:
            start(self._run)
        except RuntimeError:  # no thread can be started
            self._leave()
            raise

    def close(self, reason: str = "the program ended") -> None:
        """Tell the viewers the reason, and remove the socket. This takes two seconds at most."""
        if self not in _servers:
            return
        _servers.discard(self)
        _remove(self.path)
        self.box.close()
        self._meter.reason = reason
        self._meter.ending = True
        self.wake()
        if threading.get_ident() != self._thread:
            self._ended.wait(2 * _CLOSE_WITHIN)

    def keep_box(self) -> None:
        """Make the program's black box. If there can be none, `box.problem` says why."""
        self.box.start(self._process)
        self.wake()

    def refuse(self, reason: str, *keys: str) -> None:
        """Mark accepted changes of these settings as refused: the program could not use them."""
        self._changes.refuse(reason, keys)

    def wake(self) -> None:
        """Let the server's thread look for what is due. Any thread may call it."""
        with contextlib.suppress(OSError):  # it has been woken already, or has ended
            self._waker.send(b"\0")

    def _call(self, function: Callable[[], None]) -> None:
        """Make the server's thread call a function."""
        self._done.append(function)
        self.wake()

    def _run(self) -> None:
        self._thread = threading.get_ident()
        # viewers notice a fault by the missing socket; the program's output stays clean
        with contextlib.suppress(Exception):
            while not self._over():
                self._turn()
        self._leave()
        self._ended.set()

    def _over(self) -> bool:
        if not self._meter.ending:
            return False
        now = time.monotonic()
        if not self._end:
            self._end = now + _CLOSE_WITHIN
            for connection in self._connections.values():
                connection.hurry()
        return now >= self._end or not any(c.answering for c in self._connections.values())

    def _turn(self) -> None:
        """Wait for an event, and handle it."""
        self._door.tend(self._meter.ending)
        due = self._due()
        timeout = None if due is None else max(0.0, due - time.monotonic())
        for key, events in self._selector.select(timeout):
            if key.fileobj is self._door.listener:
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
            self._look_for(connection)
        self._viewers.count()
        for task in self.tasks:
            task.tend()

    def _due(self) -> float | None:
        """Return when the server must act even without an event."""
        times = [self._end or None, self._door.due(), self._viewers.next_look()]
        times += [task.due() for task in self.tasks]
        times += [connection.due() for connection in self._connections.values()]
        return min((t for t in times if t is not None), default=None)

    def _accept(self) -> None:
        if taken := self._door.accept():
            accepted, refusal = taken
            self._connections[accepted.fileno()] = Connection(accepted, self._routes, self._call, refusal)
            self._selector.register(accepted, selectors.EVENT_READ)

    def _look_for(self, connection: Connection) -> None:
        """Make the selector watch for the events that the connection waits for."""
        if connection.closed:
            self._forget(connection)
        elif connection.wants != connection.watched:
            if connection.watched:
                self._selector.unregister(connection.socket)
            if connection.wants:
                self._selector.register(connection.socket, connection.wants)
            connection.watched = connection.wants

    def _forget(self, connection: Connection) -> None:
        if connection.watched:
            self._selector.unregister(connection.socket)
        del self._connections[connection.socket.fileno()]
        connection.close()
        with contextlib.suppress(OSError):  # the peer has gone
            connection.socket.shutdown(socket.SHUT_RDWR)  # a forked child may have the socket too
        connection.socket.close()
        self._door.left(connection.refusal)

    def _leave(self) -> None:
        self.box.close()
        _servers.discard(self)
        _remove(self.path)
        for connection in list(self._connections.values()):
            self._forget(connection)
        self._viewers.end()
        self._close_files()

    def _close_files(self) -> None:
        for file in (self._selector, self._door.listener, self._woken, self._waker):
            file.close()

    def abandon(self) -> None:
        """Close a forked child's files of the server, which goes on in the parent.

        The files are only closed, not unregistered: the selector's state is shared with the parent.
        """
        for connection in self._connections.values():
            connection.socket.close()
        self._connections.clear()
        self._close_files()
        self._journal.lock = threading.RLock()  # the server's thread may have held it, and the child has no such thread


def _drain(woken: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while woken.recv(4096):
            pass


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # it or its folder is gone already
        os.unlink(path)


_servers: set[Server] = set()  # the servers of this process


def _close_all() -> None:
    for server in list(_servers):
        server.close()


def _abandon_all() -> None:
    for server in list(_servers):
        _servers.discard(server)
        server.abandon()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_abandon_all)
