"""A link without a host: it keeps what the parts of the agent give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from memtop.link.messages import EVENT, FORGET, SNAPSHOT
from memtop.link.queue import ALLOC, FREE, RETAG, Link, Tags


class Event(NamedTuple):
    kind: int
    address: int
    size: int
    time_us: int
    stack: int
    note: int


class Message(NamedTuple):
    type: int
    data: Any


class Taken(NamedTuple):
    data: bytes
    tags: tuple[Tags, ...]


class Kept(Link):
    """Entries are those since the memory was last forgotten, `alive` is the memory by address."""

    def __init__(self) -> None:
        super().__init__()
        self._on = True
        self.entries: list[Any] = []
        self.alive: dict[int, Event] = {}
        self.taken: Taken | None = None
        self.passes: Callable[..., None] | None = None  # each entry too

    def _add(self, entry: tuple[Any, ...]) -> None:
        kind, *rest = entry
        if self.passes is not None:
            self.passes(*entry)
        if kind == FORGET:
            self.entries.clear()
            self.alive.clear()
            self.taken = None
        elif kind == EVENT:
            self._event(Event(*rest))
        elif kind == SNAPSHOT:
            self.taken = Taken(rest[0], tuple(Tags(*each) for each in rest[1]))
            self.entries.append(self.taken)
        else:
            self.entries.append(Message(kind, rest[0] if rest else None))

    def _event(self, event: Event) -> None:
        self.entries.append(event)
        if event.kind == ALLOC:
            self.alive[event.address] = event
        elif event.kind == FREE:
            self.alive.pop(event.address, None)
        elif event.kind == RETAG and event.address in self.alive:
            self.alive[event.address] = self.alive[event.address]._replace(note=event.note)

    def latest(self, type: int) -> list[Any]:
        return [entry.data for entry in self.entries if isinstance(entry, Message) and entry.type == type]
