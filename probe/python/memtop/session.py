"""A viewer's stream: first the state, then the news, at the viewer's pace.

A session reads the journal when its next batch is due and the viewer has taken everything sent before.
If a viewer is too slow, the journal has dropped entries: the session then tells it how many events
it missed, and begins again with the current state.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .answer import Piece
from .changes import Changes
from .journal import (
    BYE,
    CHANGE,
    COUNTERS,
    HELLO,
    OPTIONS,
    STEP,
    STEPS_REPEATED,
    Entry,
    Event,
    Journal,
    Message,
    Pickled,
    now_us,
)
from .program import Info, Json, Program
from .shared import Shared
from .wire import Frames

INTERVAL, INTERVAL_MIN, INTERVAL_MAX = 0.1, 0.05, 60.0  # seconds
_HEARTBEAT = 1.0
# seconds that the state may wait for the first look; if a step takes longer, the viewer sees it when it ends
_FIRST_LOOK = 2.0
_LOOK = 0.25  # how often a slow viewer's session checks whether the journal is about to drop unsent entries

_ANOTHER = "the program has begun to use a device: attach again to see the device's memory"


@dataclass
class Meter:
    """The cost of the viewers, and what they missed, since the program began."""

    viewers_ns: int = 0
    dropped_events: int = 0
    dropped_steps: int = 0
    ending: bool = False  # sessions should end
    reason: str = "the program ended"  # the reason that they give


class Session:
    """Owned by the server's thread."""

    def __init__(
        self,
        program: Program,
        journal: Journal,
        changes: Changes,
        meter: Meter,
        shared: Shared,
        hello: Json,
        encoder: Frames,
        interval: float,
    ) -> None:
        self._program = program
        self._journal = journal
        self._changes = changes
        self._meter = meter
        self._shared = shared
        self._hello = hello
        self._encoder = encoder
        self._interval = interval
        self._position = 0  # of the next entry in the journal
        self._event = 0  # number of the next event to send
        self._steps = 0  # number of steps reported before
        self.uncached = hello["settings"].get("allocator") == "none"  # the program has no caching allocator
        self._sent = 0.0
        self._outdated = False  # the hello message is no longer true
        self._looking = True  # until a batch has all that the first whole look found
        self._options: Sequence[Json] | None = None
        self._known: dict[int, Json] = {}  # changes by id, as the viewer has them
        self._version = -1  # of the changes that the viewer has
        self.fit: Callable[[bytes], bytes] = bytes  # shortens a snapshot of PyTorch if the viewer has little room

    def run(self) -> Iterator[Piece]:
        """Send until the server ends, or until the hello message is no longer true."""
        yield from self.greet()
        yield from self._first_look()
        yield from self.begin()
        while not self._meter.ending and not self._outdated:
            look = self._next_look()
            yield look
            if self._due():
                yield from self._batch(self._shared.end(look, self._journal.position))
        yield from self._batch(self._journal.position)
        yield self._encoder.message(BYE, {"reason": _ANOTHER if self._outdated else self._meter.reason})

    def greet(self, *notices: str) -> Iterator[Piece]:
        """Send who the program is, with more notices than those of the program."""
        yield self._encoder.header()
        hello = {**self._hello, "notices": [*self._hello["notices"], *notices]}
        yield self._encoder.message(HELLO, hello)

    def begin(self, known: bool = True) -> Iterator[Piece]:
        """Send the current state. If memory is not `known`, send all but its state."""
        yield from self._state("", known)
        yield from self._end_batch()

    def catch_up(self) -> Iterator[Piece]:
        """Send all news."""
        yield from self._batch(self._journal.position)

    @property
    def torn(self) -> bool:
        """Whether the stream cannot go on as it began: it lacks news, or the hello message is no longer true."""
        return self._outdated or self._position < self._journal.oldest

    def _first_look(self) -> Iterator[Piece]:
        """Wait, for a limited time, until the program has measured its memory since the first viewer came."""
        until = time.monotonic() + _FIRST_LOOK
        while not (self._program.looked() or self._meter.ending) and time.monotonic() < until:
            yield time.monotonic() + INTERVAL_MIN
        self._looking = self._program.looking()

    def _next_look(self) -> float:
        """Return when to look for news: at multiples of the interval, so that all viewers are served together."""
        every = min(self._interval, _LOOK)
        return (time.monotonic() // every + 1) * every

    def _due(self) -> bool:
        """Report whether to send: the interval has passed and there is news, or the journal may soon drop entries."""
        since = time.monotonic() - self._sent
        waiting = self._journal.position - self._position
        news = waiting > 0 or self._changes.view()[1] != self._version
        return (
            (news and since >= self._interval - INTERVAL_MIN / 2)
            or since >= max(_HEARTBEAT, self._interval)
            or waiting > self._journal.keeps // 4
        )

    def _batch(self, end: int) -> Iterator[Piece]:
        """Send the journal's entries up to a position."""
        batch = self._journal.since(self._position)
        if batch.missed is not None:
            self._compare(self._program.info())
            if self._outdated:
                return
            yield from self._state("the viewer fell behind")
        else:
            yield from self._encoder.tables(self._journal.tables)
            yield from self._entries(batch.entries[: max(0, end - self._position)])
            self._position = max(end, self._position)
        yield from self._end_batch()

    def _state(self, reason: str, known: bool = True) -> Iterator[Piece]:
        """Send the current state. With a reason, also say how many events the viewer missed."""
        state = self._journal.state()
        missed = state.events - self._event if reason else 0
        self._meter.dropped_events += missed
        if reason:
            self._meter.dropped_steps += max(0, state.steps - self._steps - STEPS_REPEATED)
        self._position, self._event = state.position, state.events
        yield from self._encoder.tables(self._journal.tables)
        if not known:
            pass
        elif self.uncached:
            for device in self._hello["devices"]:
                alive = state.alive if device == self._hello["devices"][0] else {}
                yield from self._once(
                    ("base", device, state.position, missed, reason),
                    None,
                    functools.partial(self._encoder.base, device, state.events, alive, missed, reason),
                )
        elif state.pickled is not None:
            yield from self._snapshot(state.pickled)
        for entry in state.latest:
            yield from self._entry(entry)
        self._steps = state.steps

    def _entries(self, entries: Sequence[Entry]) -> Iterator[Piece]:
        """Send entries in order. Consecutive events share frames."""
        events: list[Event] = []
        for entry in entries:
            if isinstance(entry, Event):
                events.append(entry)
                continue
            yield from self._events(events)
            events = []
            yield from self._entry(entry)
        yield from self._events(events)

    def _events(self, events: list[Event]) -> Iterator[Piece]:
        if events and self.uncached:
            make = functools.partial(self._encoder.events, self._hello["devices"][0], self._event, events)
            yield from self._once(("events", self._event, len(events)), None, make)
            self._event += len(events)

    def _entry(self, entry: Entry) -> Iterator[Piece]:
        if isinstance(entry, Message):
            self._steps += entry.type == STEP
            yield from self._once(
                ("message", id(entry)), entry, lambda: [self._encoder.message(entry.type, entry.data)]
            )
        elif isinstance(entry, Pickled):
            yield from self._snapshot(entry)

    def _snapshot(self, taken: Pickled) -> Iterator[Piece]:
        yield from self._encoder.snapshot(self.fit(taken.data))
        for tags in taken.tags:
            yield self._encoder.tags(tags)

    def _once(self, key: tuple[Hashable, ...], source: object, make: Callable[[], Iterable[bytes]]) -> Iterator[Piece]:
        return self._shared.pieces((self._encoder.encoding, *key), source, make)

    def _end_batch(self) -> Iterator[Piece]:
        yield from self._settings()
        self._sent = time.monotonic()
        meter, info = self._meter, self._program.info()
        self._compare(info)
        yield self._encoder.message(
            COUNTERS,
            {
                "time_us": now_us(),
                "dropped": meter.dropped_events,
                "dropped_steps": meter.dropped_steps,
                "probe_ns": info.probe_ns,
                **({"looking": True} if self._looking else {}),
            },
        )
        self._looking = self._program.looking()  # for the next batch, which has everything until now

    def _compare(self, info: Info) -> None:
        self._outdated = any(getattr(info, name) != self._hello[name] for name in ("settings", "notices"))

    def _settings(self) -> Iterator[Piece]:
        """Send the options if they have changed, and each change that differs from what the viewer has."""
        changes, version = self._changes.view()
        options = list(self._program.options())
        if options != self._options:
            self._options = options
            yield self._encoder.message(OPTIONS, options)
        if version != self._version:
            self._version = version
            for change in changes:
                if self._known.get(change["id"]) != change:
                    yield self._encoder.message(CHANGE, change)
            self._known = {change["id"]: change for change in changes}
