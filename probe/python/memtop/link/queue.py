"""The link to memtop's host: what happens in the program, in order, for a process outside of it.

All parts of the agent meet here. The parts that watch the program write into the link's queue, and never wait:
if the queue is full, it is emptied, and the program's memory is sent anew when the next step ends. One thread
of the agent's own sends what is queued, and answers what the host asks. It touches nothing of the program.

The host does the rest: it keeps what happened, serves viewers, and writes the black box, see docs/architecture.md
and Go's package sensor. If it ends, the agent is silent until memtop brings another.

All methods are safe for concurrent use. None may be called from a finalizer or a weak reference's callback: that
can run while the same thread holds the lock.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections import deque
from select import POLLIN, POLLOUT
from typing import Any, NamedTuple, Protocol

from ..safety.interrupts import ignored
from ..safety.threads import start
from .connection import Connection, connect, greet
from .descriptors import Lost, Socket, new_pair, wait
from .messages import ANSWER, BYE, DESCRIBE, EVENT, FORGET, LOOKED, MISSED, REFUSE, SNAPSHOT, SURVEY, packed
from .messages import GAUGES as GAUGES
from .messages import STEP as STEP
from .program import Json, Refused
from .tables import New, Tables

# Kinds of events, as in docs/protocol.md.
ALLOC, FREE, RETAG = 1, 4, 12
STEP_BEGIN, STEP_END, SETTING_CHANGED = 13, 14, 15

MOST_ENTRIES = 65_536  # in the queue
MOST_MESSAGES = 1024
MANY_MESSAGES = 256  # from here on, a step that says nothing but counters gives way to the next
MOST_SNAPSHOTS = 64 << 20  # bytes of them
WATCHED_EVERY, HEARTBEAT = 0.2, 1.0  # seconds between two messages to a host that has viewers: of news, of the program
AGAIN_AFTER = 1.0  # seconds after the program has closed the link
CLOSE_WITHIN = 2.0  # seconds, for the host to take the last news


# What the host needs to play a step of a device: its number, the step's requests for blocks and for their return, and,
# when the step began, the bytes that were reserved and the addresses and sizes of the blocks in use, one after another.
Played = tuple[int, int, int, tuple[int, ...]]


class Tags(NamedTuple):
    """What the memory of a device is for at the moment of a snapshot: the note of each address."""

    device: int
    notes: tuple[tuple[int, int], ...]


class Answers(Protocol):
    """What the host asks of the program. The link's thread calls it."""

    def greeting(self) -> Json:
        """Say which program this is."""

    def describe(self, gauges: bool) -> Json:
        """Describe the program now, with the machine's gauges if they are asked for."""

    def on_viewers(self, count: int) -> None:
        """Learn the number of viewers. Watching begins with the first and ends with the last."""

    def on_look(self) -> None:
        """Look at the program when its next step ends, while nobody watches."""

    def change(self, key: str, value: str, at: int) -> None:
        """Use a value from the next step on, or from step `at`. Raise `Refused` if it cannot."""


class Task(Protocol):
    """What the link's thread does now and then. It needs no lock for that."""

    def due(self) -> float | None:
        """Return when to call `tend`, by the monotonic clock; None for never."""

    def tend(self) -> None:
        """Do what is due."""


class Link:
    """See the module's docstring."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.lock = threading.RLock()
        self.path = ""  # of the program's socket, "" without one
        self.torn = False  # entries were dropped: the memory is to be sent anew
        self.boxed = False  # the host keeps a black box
        self.tasks: list[Task] = []
        self._answers: Answers | None = None
        self._queue: deque[tuple[Any, ...]] = deque()
        self._messages = 0  # in the queue
        self._dropped = 0  # events that no host was told of yet
        self._new = New()
        self._time_us = 0  # of the latest event: times must not decrease
        self._on = False  # there is a host
        self._host = ""  # the path of its socket
        self._watched = False
        self._turn = 0  # of watching: how often viewers have come when there were none
        self._changed = False  # the program is to be described, because it was looked at
        self._described_at = self._attended = 0.0  # when it was last described, and the link last attended to
        self._connection: Connection | None = None
        self._ending = False
        self._thread = 0
        self._ended = threading.Event()

    def event(self, kind: int, address: int, size: int, stack: int = 0, note: int = 0, time_us: int = 0) -> None:
        """Add an event at a time in microseconds since 1970, by default now. Stack and note are numbers of tables."""
        if self._on:
            with self.lock:
                self._time_us = max(time_us or now_us(), self._time_us)
                self._add((EVENT, kind, address, size, self._time_us, stack, note))

    def message(self, type: int, data: Any) -> None:
        """Add a step or gauges, in the form of their messages. The caller does not change them any more."""
        if self._on:
            with self.lock:
                last = self._queue[-1] if self._queue else ()
                if self._messages > MANY_MESSAGES and last[:1] == (STEP,) and "categories" not in last[1]:
                    self._queue.pop()
                else:
                    self._messages += 1
                self._add((type, data))

    def snapshot(self, data: bytes, tags: tuple[Tags, ...], step: tuple[Played, ...] = ()) -> None:
        """Add a pickled snapshot of PyTorch's allocator, which may be that of a step's end. It takes the place of those
        that were not sent yet and would be too much with it."""
        if self._on:
            with self.lock:
                room = MOST_SNAPSHOTS - len(data)
                for entry in [entry for entry in reversed(self._queue) if entry[0] == SNAPSHOT]:
                    room -= len(entry[1])
                    if room < 0:
                        self._queue.remove(entry)
                self._add((SNAPSHOT, data, tuple(tuple(each) for each in tags), step))

    def survey(self, *step: Any) -> None:
        """Add a surveyed step, see `Checkpointing.tell`. It follows the snapshot of the step's end."""
        if self._on:
            with self.lock:
                self._add((SURVEY, *step))

    def forget(self) -> None:
        """Forget all live memory, and all that was not sent yet."""
        with self.lock:
            kept = [entry for entry in self._queue if entry[0] not in (EVENT, SNAPSHOT, SURVEY)]
            self._queue = deque(kept)
            self._add((FORGET,))

    def looked(self, cost_ns: int) -> None:
        """Say that all that was found has been added, at such a cost, and send it, after a description of the
        program."""
        with self.lock:
            self._add((LOOKED, cost_ns))
            self._changed = True
        self.wake()

    def describe(self) -> None:
        """Describe the program after what is queued."""
        self._described_at = 0.0

    def refuse(self, reason: str, *keys: str) -> None:
        """Mark accepted changes of these settings as refused: the program could not use them."""
        with self.lock:
            self._add((REFUSE, reason, list(keys)))
        self.wake()

    def _add(self, entry: tuple[Any, ...]) -> None:
        self._queue.append(entry)
        if len(self._queue) > MOST_ENTRIES or self._messages > MOST_MESSAGES:
            self._dropped += sum(entry[0] == EVENT for entry in self._queue)
            self._queue.clear()
            self._messages, self.torn = 0, True

    def begin(self, answers: Answers, host: str) -> None:
        """Begin to serve the program. It raises `place.Unsafe` or an OSError if there can be no link."""
        self._answers = answers
        self._woken, self._waker = new_pair()
        self.meet(host)
        _links.add(self)
        try:
            start(self._run)
        except RuntimeError:  # no thread can be started
            self._leave()
            raise

    def meet(self, host: str) -> None:
        """Take another host, unless there is one. It raises what `begin` raises."""
        with self.lock:
            if self._on or self._answers is None:
                return
            connection = connect(host)
            self.path = greet(connection, self._answers.greeting(), self.path, listens=True)
            self._take(connection, host)
        self.wake()

    def _take(self, connection: Connection, host: str) -> None:
        self._queue.clear()
        self._messages, self._new, self.torn = 0, New(), False
        self._connection, self._host, self._on = connection, host, True

    def wake(self) -> None:
        """Let the link's thread look for what is due."""
        with ignored(OSError, AttributeError):  # it has been woken already, has ended, or has not begun
            self._waker.own.send(b"\0")

    def close(self, reason: str) -> None:
        """Tell the host that the program ends by itself, or the agent, and wait a little for it to tell the viewers."""
        if self not in _links:
            return
        _links.discard(self)
        with self.lock:
            self._queue.append((BYE, reason))
            self._ending = True
        self.wake()
        if threading.get_ident() != self._thread:
            self._ended.wait(CLOSE_WITHIN)
        with ignored(OSError):  # it or its folder is gone already
            os.unlink(self.path)

    def abandon(self) -> None:
        """Close a forked child's ends of the link, which is its parent's."""
        self.lock = threading.RLock()  # another thread may have held it, and the child has no such thread
        self._on = False
        if self._connection is not None:
            self._connection.socket.close()
        for each in (self._woken, self._waker):
            each.close()

    def _run(self) -> None:
        self._thread = threading.get_ident()
        with ignored(Exception):  # viewers notice a fault by the missing socket; the program's output stays clean
            try:
                self._serve()
            except Lost:
                self._begin_again()
                self._serve()
        self._leave()
        self._ended.set()

    def _begin_again(self) -> None:
        """Make new files after the program has closed all. This waits: right then the program opens its own, which may
        need certain numbers. A program that closes them once more is left alone."""
        self._lose()
        self._woken.close()
        self._waker.close()
        time.sleep(AGAIN_AFTER)
        self._woken, self._waker = new_pair()
        if self._answers is not None:
            connection = connect(self._host)
            greet(connection, self._answers.greeting(), self.path, listens=False)
            with self.lock:
                self._take(connection, self._host)

    def _serve(self) -> None:
        while not (self._ending and self._connection is None):
            self._attend()

    def _attend(self) -> None:
        due = self._due()
        self._attended = time.monotonic()
        for ready in wait(self._awaited(), None if due is None else max(0.0, due - self._attended)):
            if ready is self._woken:
                _drain(ready)
            else:
                self._hear()
        self._speak()
        for task in self.tasks:
            tend(task)

    def _awaited(self) -> dict[Socket, int]:
        awaited = {self._woken: POLLIN}
        if self._connection is not None:
            awaited[self._connection.socket] = POLLIN | (POLLOUT if self._connection.left else 0)
        return awaited

    def _due(self) -> float | None:
        """Return when the link must act even without an event."""
        times = [task.due() for task in self.tasks]
        if self._watched:
            times.append(self._attended + WATCHED_EVERY)
        return min((t for t in times if t is not None), default=None)

    def _hear(self) -> None:
        """Handle what the host says."""
        if self._connection is None:
            return
        try:
            for question in self._connection.questions():
                self._answer(question)
        except Lost:
            raise
        except (OSError, ValueError):  # the host has ended
            self._lose()

    def _answer(self, question: Json) -> None:
        assert self._answers is not None
        do, number = question["do"], question.get("id", 0)
        if do == "watch":
            self._turn = question.get("turn", 0)
            self._watch(question.get("viewers", 0))
        elif do == "describe":
            self._put(self._described(gauges=True))
        elif do == "box":
            self.boxed = True
        elif do == "look":
            self._answers.on_look()
        elif do in ("ended", "failed"):
            self._lose()
        elif do == "change":
            refused = self._change(question)
            self._put(self._described(), (ANSWER, number, refused))

    def _change(self, question: Json) -> str:
        """Change a setting. Return why that is refused, "" if it is not."""
        assert self._answers is not None
        try:
            self._answers.change(question["key"], question["value"], question.get("at", 0))
        except Refused as error:
            return str(error)
        except Exception as error:
            return f"the program failed to make it: {error!r}"
        return ""

    def _watch(self, viewers: int) -> None:
        self._watched = viewers > 0
        if self._answers is not None:
            with ignored(Exception):  # a failure of watching must not stop the link
                self._answers.on_viewers(viewers)

    def _put(self, *entries: tuple[Any, ...]) -> None:
        with self.lock:
            self._queue.extend(entries)

    def _described(self, gauges: bool = False) -> tuple[Any, ...]:
        assert self._answers is not None
        self._described_at = time.monotonic()
        return DESCRIBE, {**self._answers.describe(gauges), "turn": self._turn}

    def _speak(self) -> None:
        """Send what is queued, as far as the link takes it."""
        if self._connection is None:
            return
        if self._changed:
            self._changed, described = False, self._described()
            with self.lock:
                self._queue.appendleft(described)
        if self._watched and time.monotonic() - self._described_at >= HEARTBEAT:
            self._put(self._described())
        try:
            if not self._connection.left and self._queue:
                self._connection.left = memoryview(self._packed())
            self._connection.send()
        except Lost:
            raise
        except OSError:  # the host has ended
            self._lose()

    def _packed(self) -> bytes:
        with self.lock:
            entries, self._queue = self._queue, deque()
            self._messages = 0
            new = self._new.of(self.tables)
            dropped, self._dropped = self._dropped, 0
        if dropped:
            entries.appendleft((MISSED, dropped))
        return packed(new, entries)

    def _lose(self) -> None:
        """Be silent: there is no host any more."""
        with self.lock:
            connection, self._connection, self._on = self._connection, None, False
            self._queue.clear()
            self._messages, self.boxed = 0, False
        if connection is not None:
            connection.socket.close()
        if self._watched:
            self._watch(0)

    def _leave(self) -> None:
        self._lose()
        _links.discard(self)
        for each in (self._woken, self._waker):
            each.close()


def tend(task: Task) -> None:
    """Have a task do what is due."""
    if (due := task.due()) is not None and time.monotonic() >= due:
        task.tend()


def _drain(woken: Socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while woken.own.recv(4096):
            pass
        raise Lost  # the other end


def now_us() -> int:
    """Return the microseconds since 1970."""
    return time.time_ns() // 1000


_links: set[Link] = set()  # of this process


def _close_all() -> None:
    for link in list(_links):
        link.close("the program ended")


def _abandon_all() -> None:
    for link in list(_links):
        _links.discard(link)
        link.abandon()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_abandon_all)
