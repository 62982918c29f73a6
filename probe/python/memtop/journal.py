"""The journal: what happened in the program, in order, for the viewers.

All parts of the agent meet here. The parts that watch the program write into the journal, and each
viewer's session reads it at its own pace. Writers never wait for a viewer. The journal knows which
memory is alive, so a session can begin, or begin again, with the complete state. All methods are safe
for concurrent use. None may be called from a finalizer or a weak reference's callback: that can run
while the same thread holds the lock.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Union

from .past import Past
from .tables import Tables

# Kinds of events, as in docs/protocol.md.
ALLOC, FREE, RETAG = 1, 4, 12
STEP_BEGIN, STEP_END, SETTING_CHANGED = 13, 14, 15

# Types of messages, as in docs/protocol.md.
HELLO, SETTINGS, STEP, OPTIONS, CHANGE, GAUGES, COUNTERS, BYE = range(10, 18)


class Event(NamedTuple):
    """One event. The size of a step's event is the step's number; stack and note are numbers of the tables."""

    kind: int
    address: int
    size: int
    time_us: int
    stack: int
    note: int


_new = tuple.__new__  # takes half the time of Event(...), on the program's threads


class Message(NamedTuple):
    """A message of the protocol: its type and the value of its JSON."""

    type: int
    data: Any


class Tags(NamedTuple):
    """What the memory of a device is for at the moment of a snapshot: the note of each address."""

    device: int
    notes: tuple[tuple[int, int], ...]


class Pickled(NamedTuple):
    """A pickled snapshot of PyTorch's allocator, and what its memory is for. Both are empty once a later snapshot has
    replaced it: at another moment, other memory may be at the same addresses."""

    time_us: int
    data: bytes
    tags: tuple[Tags, ...] = ()


Entry = Union[Event, Message, Pickled]


@dataclass
class State:
    """The state with which a session begins. Its numbers are those of the journal's tables."""

    position: int  # of the next entry
    events: int  # number of events counted so far
    steps: int  # number of steps reported so far
    alive: dict[int, Event]  # by address, the alloc event of live memory, with its current note
    pickled: Pickled | None
    latest: list[Entry]  # what a new stream gets first


@dataclass
class Batch:
    """The entries since a position. If some of them are no longer kept, `missed` is the number of all events, else
    None.

    A snapshot without data was replaced by a later one.
    """

    position: int
    entries: list[Entry] = field(default_factory=list)
    missed: int | None = None


KEPT_SECONDS = 60.0  # a reader that falls further behind begins again with the whole state
STEPS_REPEATED = 64  # the most steps that a new stream gets first
_LAYERS_EVERY_US = 50_000  # of the steps of one device, at most one in this time keeps its layers


class Journal:
    """See the module's docstring. It keeps the entries of the last minute, and counts the events that it drops."""

    def __init__(self, keep: int = 65_536) -> None:
        self.tables = Tables()
        self.lock = threading.RLock()
        self._entries: deque[Entry] = deque(maxlen=keep)
        self._keep = keep
        self._moments: deque[tuple[float, int]] = deque()  # one a second, with the position at that time
        self._position = 0  # of the next entry
        self._events = 0  # number of all events
        self._alive: dict[int, Event] = {}
        self._latest: dict[Any, Entry] = {}
        self._gauges = Past()
        self._reported = 0  # number of all steps
        self._steps: deque[Message] = deque(maxlen=STEPS_REPEATED)
        self._layered: dict[int, Message] = {}  # by device, the latest step with layers
        self._pickled: Pickled | None = None  # the latest
        self._pickled_at = -1  # its position
        self._time_us = 0  # of the latest event: times must not decrease

    def event(self, kind: int, address: int, size: int, stack: int = 0, note: int = 0, time_us: int = 0) -> None:
        """Add an event at a time in microseconds since 1970, by default now."""
        with self.lock:
            time_us = time_us or time.time_ns() // 1000
            if time_us < self._time_us:
                time_us = self._time_us
            self._time_us = time_us
            event = _new(Event, (kind, address, size, time_us, stack, note))
            if kind == ALLOC:
                self._alive[address] = event
            elif kind == FREE:
                self._alive.pop(address, None)
            elif kind == RETAG and address in self._alive:
                self._alive[address] = self._alive[address]._replace(note=note)
            self._events += 1
            self._position += 1
            self._entries.append(event)

    def message(self, type: int, data: Any, key: Any = None) -> None:
        """Add a message. If it has a key, new viewers get it too, until a message of the same type and key replaces it.

        Steps and gauges need no key: new viewers get the last steps, and gauges of the whole past.
        """
        with self.lock:
            entry = Message(type, data)
            if type == STEP:
                entry = self._step(entry)
            elif type == GAUGES:
                self._gauges.add(data)
            elif key is not None:
                self._latest[(type, key)] = entry
            self._add(entry)

    def add(self, entry: Pickled) -> None:
        """Add a snapshot. Only the latest is kept: it contains what the earlier ones had."""
        with self.lock:
            self._pickled, self._pickled_at = entry, self._position
            self._add(entry._replace(data=b"", tags=()))

    def forget(self) -> None:
        """Forget all live memory, and all entries so far."""
        with self.lock:
            self._entries.clear()
            self._alive.clear()
            self._pickled = None

    def state(self) -> State:
        """Return the current state. The caller may keep it."""
        with self.lock:
            return State(
                self._position, self._events, self._reported, dict(self._alive), self._pickled, self._lasting()
            )

    def snapshot(self) -> Pickled | None:
        """Return the newest snapshot."""
        with self.lock:
            return self._pickled

    def since(self, position: int) -> Batch:
        """Return the entries from a position on."""
        with self.lock:
            end = self._position
            if position < self.oldest:
                return Batch(end, missed=self._events)
            newest_first = islice(reversed(self._entries), end - position)
            entries = list(newest_first)[::-1]
            if self._pickled is not None and position <= self._pickled_at:
                entries[self._pickled_at - position] = self._pickled
            return Batch(end, entries)

    @property
    def position(self) -> int:
        """The position of the next entry."""
        with self.lock:
            return self._position

    @property
    def oldest(self) -> int:
        """The position of the oldest entry that is still kept."""
        with self.lock:
            return self._position - len(self._entries)

    @property
    def events(self) -> int:
        """The number of all events."""
        with self.lock:
            return self._events

    @property
    def keeps(self) -> int:
        """The largest number of entries that is kept."""
        return self._keep

    def latest(self, type: int) -> list[Any]:
        """Return the data of the messages of a type that new viewers get."""
        with self.lock:
            entries = self._lasting()
        return [entry.data for entry in entries if isinstance(entry, Message) and entry.type == type]

    def _lasting(self) -> list[Entry]:
        """Return what new viewers get."""
        gauges = [gauge for gauges in self._gauges.values() for gauge in gauges]
        return [*self._last_steps(), *self._latest.values(), *([Message(GAUGES, gauges)] if gauges else [])]

    def _step(self, entry: Message) -> Message:
        """Keep a step. Drop its layers, which are large, if a step shortly before kept its own."""
        device, time_us = entry.data.get("device", 0), entry.data["time_us"]
        if entry.data.get("layers"):
            before = self._layered.get(device)
            if before is None or not 0 <= time_us - before.data["time_us"] < _LAYERS_EVERY_US:
                self._layered[device] = entry
            else:
                entry = _without_layers(entry)
        self._reported += 1
        self._steps.append(entry)
        return entry

    def _last_steps(self) -> list[Entry]:
        """Return the last steps, and of each device the latest step that has layers."""
        layered = list(self._layered.values())
        older = [step for step in layered if step not in self._steps]
        return [*older, *(step if step in layered else _without_layers(step) for step in self._steps)]

    def _add(self, entry: Entry) -> None:
        self._position += 1
        self._entries.append(entry)
        self._let_go(time.monotonic())

    def _let_go(self, now: float) -> None:
        """Drop entries older than a minute: sessions have read them, and keeping the maximum would only cost memory."""
        if not self._moments or now - self._moments[-1][0] >= 1:
            self._moments.append((now, self._position))
        while now - self._moments[0][0] > KEPT_SECONDS:
            _, position = self._moments.popleft()
            while self._entries and self.oldest < position:
                self._entries.popleft()


def _without_layers(step: Message) -> Message:
    return Message(step.type, {key: value for key, value in step.data.items() if key != "layers"})


def now_us() -> int:
    """Return the microseconds since 1970."""
    return time.time_ns() // 1000
