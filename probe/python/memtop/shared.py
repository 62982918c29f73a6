"""A cache of encoded frames, so that frames for several viewers are made once.

The numbers of tables and events are the journal's, so all streams with the same encoding have the same
frames of events, steps and states. Viewers are served together, so only recent frames are kept: the
cache takes memory from the job.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator

from .events import forget

_BYTES = 4 << 20
_SECONDS = 2.0


class Shared:
    """Owned by the server's thread."""

    def __init__(self, most: int = _BYTES) -> None:
        """Make a cache of so many bytes at most."""
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[float, object, list[bytes]]] = OrderedDict()
        self._size = 0  # bytes
        self._look, self._end = 0.0, 0

    def end(self, look: float, now: int) -> int:
        """Return the journal's position up to which to send. It is the same for all streams with the same look time."""
        if self._look != look:
            self._look, self._end = look, now
        return self._end

    def pieces(self, key: Hashable, source: object, make: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
        """Yield the pieces made for this key before, or make them. Keep `source` alive: the key may contain its id."""
        if known := self._kept.get(key):
            yield from known[-1]
            return
        made = []
        for piece in make():
            made.append(piece)
            yield piece
        self._keep(key, source, made)

    def clear(self) -> None:
        """Empty the cache."""
        self._kept.clear()
        self._size = 0
        forget()

    def _keep(self, key: Hashable, source: object, made: list[bytes]) -> None:
        if key in self._kept:
            return  # another stream made them first
        now = time.monotonic()
        self._kept[key] = (now, source, made)
        self._size += sum(map(len, made))
        while self._kept and (self._size > self._most or now - next(iter(self._kept.values()))[0] > _SECONDS):
            _, (*_, oldest) = self._kept.popitem(last=False)
            self._size -= sum(map(len, oldest))
