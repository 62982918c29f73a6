"""The server: it answers viewers on a thread of its own.

One thread serves all viewers. It takes turns with the program under Python's global lock, and each further
thread would take turns too. A thread that waits for a peer in a system call costs the program nothing,
and without viewers it waits without a time limit. Only requests that may take long, which are changes,
predictions and snapshots, get a thread each. The program never waits for any of these threads.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from select import POLLIN
from socket import SHUT_RDWR, socket
from typing import Protocol

from . import place, process
from .blackbox import BlackBox
from .changes import Changes
from .connection import Connection
from .descriptors import Lost, Socket, new_pair, wait
from .door import Door
from .interrupts import ignored
from .journal import Journal
from .program import Program
from .routes import Routes
from .session import Meter
from .shared import Shared
from .threads import start
from .viewers import Viewers

_AGAIN_AFTER = 1.0  # seconds
_CLOSE_WITHIN = 1.0  # seconds, for viewers to take their last events
_HEAR_WITHIN = 0.25  # seconds, for requests of viewers that came just before the end


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
        self._connections: dict[Socket, Connection] = {}
        self._heard = 0.0  # when the server stops waiting for requests, 0 while it is not ending
        self._end = 0.0  # when the server stops waiting for its viewers, 0 while it is not ending
        self._thread = 0  # the server's, 0 before it runs
        self._ended = threading.Event()  # that thread has ended

    def start(self) -> None:
        """Begin to listen. It raises `place.Unsafe` or an OSError if no socket can be made."""
        self._open()
        _servers.add(self)
        try:
            start(self._run)
        except RuntimeError:  # no thread can be started
            self._leave()
            raise

    def _open(self) -> None:
        listener, self.path = place.listen(self._folder, self._process)
        self._woken, self._waker = new_pair()
        self._door = Door(listener)

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
        with ignored(OSError):  # it has been woken already, or has ended
            self._waker.own.send(b"\0")

    def _call(self, function: Callable[[], None]) -> None:
        """Make the server's thread call a function."""
        self._done.append(function)
        self.wake()

    def _run(self) -> None:
        self._thread = threading.get_ident()
        # viewers notice a fault by the missing socket; the program's output stays clean
        with ignored(Exception):
            try:
                self._serve()
            except Lost:
                self._begin_again()
                self._serve()
        self._leave()
        self._ended.set()

    def _serve(self) -> None:
        while not self._over():
            self._turn()

    def _begin_again(self) -> None:
        """Make new files after the program has closed all. This waits: right then the program opens its own, which may
        need certain numbers. A program that closes them once more is left alone."""
        self._drop()
        time.sleep(_AGAIN_AFTER)
        self._open()
        self.box.begin_again(self._process)

    def _over(self) -> bool:
        if not self._meter.ending:
            return False
        now = time.monotonic()
        if not self._end:
            self._heard, self._end = now + _HEAR_WITHIN, now + _CLOSE_WITHIN
            for connection in self._connections.values():
                connection.hurry()
        asks = now < self._heard
        return now >= self._end or not any(c.answering or (asks and c.may_ask) for c in self._connections.values())

    def _turn(self) -> None:
        """Wait for an event, and handle it."""
        self._door.tend()
        due = self._due()
        for ready in wait(self._awaited(), None if due is None else max(0.0, due - time.monotonic())):
            if ready is self._door.listener:
                self._accept()
            elif ready is self._woken:
                _drain(ready.own)
            elif connection := self._connections.get(ready):
                connection.read()
        while self._done:
            self._done.popleft()()
        now = time.monotonic()
        for connection in list(self._connections.values()):
            connection.go_on(now)
            if connection.closed:
                self._forget(connection)
        if not self._meter.ending:
            self._viewers.count()
        for task in self.tasks:
            task.tend()

    def _awaited(self) -> dict[Socket, int]:
        """Return the events to wait for, by socket."""
        connections = {each.socket: each.wants for each in self._connections.values() if each.wants}
        return {self._woken: POLLIN, **({self._door.listener: POLLIN} if self._door.open else {}), **connections}

    def _due(self) -> float | None:
        """Return when the server must act even without an event."""
        times = [self._heard or None, self._end or None, self._door.due(), self._viewers.next_look()]
        times += [task.due() for task in self.tasks]
        times += [connection.due() for connection in self._connections.values()]
        return min((t for t in times if t is not None), default=None)

    def _accept(self) -> None:
        if taken := self._door.accept():
            accepted, refusal = taken
            self._connections[accepted] = Connection(accepted, self._routes, self._call, refusal)

    def _forget(self, connection: Connection) -> None:
        del self._connections[connection.socket]
        connection.close()
        with ignored(OSError):  # the peer has gone
            connection.socket.own.shutdown(SHUT_RDWR)  # a forked child may have the socket too
        connection.socket.close()
        self._door.left(connection.refusal)

    def _leave(self) -> None:
        self.box.close()
        _servers.discard(self)
        self._drop()
        self._viewers.end()

    def _drop(self) -> None:
        """End all connections, and remove the socket."""
        _remove(self.path)
        for connection in list(self._connections.values()):
            self._forget(connection)
        self._close_files()

    def _close_files(self) -> None:
        for each in (self._door.listener, self._woken, self._waker):
            each.close()

    def abandon(self) -> None:
        """Close a forked child's files of the server, which goes on in the parent."""
        for connection in self._connections.values():
            connection.socket.close()
        self._connections.clear()
        self._close_files()
        self._journal.lock = threading.RLock()  # the server's thread may have held it, and the child has no such thread


def _drain(woken: socket) -> None:
    with ignored(BlockingIOError):
        while woken.recv(4096):
            pass
        raise Lost  # the other end


def _remove(path: str) -> None:
    with ignored(OSError):  # it or its folder is gone already
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
