"""What viewers are told, in the order in which it happened.

A journal is the agent's one meeting point: what watches the program writes into
it, and each viewer's session reads from it at its own pace. Its writers never
wait for a viewer. It knows what is alive, so that a session can begin, or begin
again, with the whole state. All methods are safe for concurrent use; none may be
called from a finalizer or a weak reference's callback, which can run while the
same thread holds the lock.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Union

from .tables import Tables

# Kinds of events, as in docs/protocol.md.
ALLOC, FREE, RETAG, LOST = 1, 4, 12, 16
STEP_BEGIN, STEP_END, SETTING_CHANGED = 13, 14, 15

# Types of messages, as there.
HELLO, SETTINGS, STEP, OPTIONS, CHANGE, GAUGES, COUNTERS, BYE = range(10, 18)


class Event(NamedTuple):
    """One event. Of a step the size is its number; stack and note are numbers of the tables."""

    kind: int
    address: int
    size: int
    time_us: int
    stack: int
    note: int


_new = tuple.__new__  # half of the time that Event(...) takes, on the job's threads


class Message(NamedTuple):
    """A message of the protocol: its type and what its JSON says."""

    type: int
    data: Any


class Pickled(NamedTuple):
    """A snapshot as PyTorch's allocator tells it, pickled; empty once a later one has taken its place."""

    time_us: int
    data: bytes


class Tags(NamedTuple):
    """What the memory of a device is for, as of now: the note of each address."""

    device: int
    notes: tuple[tuple[int, int], ...]


Entry = Union[Event, Message, Pickled, Tags]


@dataclass
class State:
    """What a session begins with. The numbers are of the journal's tables."""

    position: int  # of the entry that comes next
    events: int  # how many events the program counted before
    steps: int  # how many steps were reported before
    alive: dict[int, Event]  # by address, the alloc of what is handed out, with the note of now
    pickled: Pickled | None
    latest: list[Entry]  # what a new stream repeats


@dataclass
class Batch:
    """What came since a position. `missed` is None, or how many events are no longer kept.

    Snapshots without data were followed by others.
    """

    position: int
    entries: list[Entry] = field(default_factory=list)
    missed: int | None = None


KEPT_SECONDS = 60.0  # who reads later than that begins anew
STEPS_REPEATED = 64  # that a new stream has
_LAYERS_EVERY_US = 50_000  # of the steps of a device, so often one comes with its layers


class Journal:
    """See the module. It keeps the last entries, for a minute, and of what it lets go the events' number."""

    def __init__(self, keep: int = 65_536) -> None:
        self.tables = Tables()
        self.lock = threading.RLock()
        self._entries: deque[Entry] = deque(maxlen=keep)
        self._keep = keep
        self._moments: deque[tuple[float, int]] = deque()  # one a second, with the position then
        self._position = 0  # of the entry that comes next
        self._events = 0  # in all
        self._alive: dict[int, Event] = {}
        self._latest: dict[Any, Entry] = {}
        self._reported = 0  # steps, in all
        self._steps: deque[Message] = deque(maxlen=STEPS_REPEATED)
        self._layered: dict[int, Message] = {}  # by device, the newest step that has layers
        self._pickled: Pickled | None = None  # the newest
        self._pickled_at = -1  # its position
        self._time_us = 0  # of the newest event: times do not go back

    def event(self, kind: int, address: int, size: int, stack: int = 0, note: int = 0, time_us: int = 0) -> None:
        """Add an event, at the time given or else now, in microseconds since 1970."""
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
        """Add a message. One with a key is repeated to new viewers until another of its type and key replaces it.

        Of steps, which need no key, the last are repeated.
        """
        with self.lock:
            entry = Message(type, data)
            if type == STEP:
                entry = self._step(entry)
            elif key is not None:
                self._latest[(type, key)] = entry
            self._add(entry)

    def add(self, entry: Pickled | Tags) -> None:
        """Add a snapshot or what memory is for. Of snapshots only the newest is kept, for it has what others had."""
        with self.lock:
            if isinstance(entry, Pickled):
                self._pickled, self._pickled_at = entry, self._position
                entry = entry._replace(data=b"")
            else:
                self._latest[(Tags, entry.device)] = entry
            self._add(entry)

    def forget(self) -> None:
        """Begin anew: nothing is known to be alive, and what was told before is kept no longer."""
        with self.lock:
            self._entries.clear()
            self._alive.clear()
            self._pickled = None
            for key in [key for key, entry in self._latest.items() if isinstance(entry, Tags)]:
                del self._latest[key]

    def state(self) -> State:
        """Return the state as of now. The session owns it."""
        with self.lock:
            latest = [*self._last_steps(), *self._latest.values()]
            return State(self._position, self._events, self._reported, dict(self._alive), self._pickled, latest)

    def since(self, position: int) -> Batch:
        """Return what came from a position on."""
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
        """The position of the entry that comes next."""
        with self.lock:
            return self._position

    @property
    def oldest(self) -> int:
        """The position of the oldest entry that is kept."""
        with self.lock:
            return self._position - len(self._entries)

    @property
    def events(self) -> int:
        """How many events there were, in all."""
        with self.lock:
            return self._events

    @property
    def keeps(self) -> int:
        """How many entries are kept."""
        return self._keep

    def latest(self, type: int) -> list[Any]:
        """Return what the messages of a type say that new viewers get."""
        with self.lock:
            entries = [*self._last_steps(), *self._latest.values()]
        return [entry.data for entry in entries if isinstance(entry, Message) and entry.type == type]

    @property
    def alive_bytes(self) -> int:
        """The bytes of all that is alive."""
        with self.lock:
            return sum(a.size for a in self._alive.values())

    def _step(self, entry: Message) -> Message:
        """Keep a step, without its layers where one that has them came shortly before: they are many."""
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
        """Return the last steps. Of each device the newest one that has layers comes with them."""
        layered = list(self._layered.values())
        older = [step for step in layered if step not in self._steps]
        return [*older, *(step if step in layered else _without_layers(step) for step in self._steps)]

    def _add(self, entry: Entry) -> None:
        self._position += 1
        self._entries.append(entry)
        self._let_go(time.monotonic())

    def _let_go(self, now: float) -> None:
        """Let old entries go, which readers have had: the program would grow until there are as many as are kept."""
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
