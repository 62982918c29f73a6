"""How much of its cache of keys and values a server has in use: vLLM's blocks, SGLang's tokens.

A server takes the cache's memory at once, so only its own counters say this. They are plain numbers in objects of its
scheduler. vLLM hides these from Python's garbage collector (it freezes its heap) and calls no hook while it runs what
it has compiled. So a method that the scheduler calls in each step of its loop leads there: it is replaced until its
next call, on a thread of the program. Reading the numbers runs no code of the program and touches no tensor, so any
thread may do it.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any, Callable, NamedTuple

from ..safety.interrupts import ignored


class Use(NamedTuple):
    """What of a server's cache is in use, of how much, and in which unit."""

    server: str
    used: int
    size: int
    unit: str


class Pools:
    """The counters of a program's server. It has only a weak reference to them."""

    def __init__(self) -> None:
        self._known: Callable[[], Any] = lambda: None
        self._read: Callable[[Any], Use | None] = lambda _: None
        self._waits: Any = None  # what stands for the method until its next call

    def use(self) -> Use | None:
        """Return what is in use now. None without a server or before its next step, if it keeps its counters elsewhere
        than the known versions, or if it has not counted yet."""
        counters = self._known()
        if counters is not None:
            return self._read(counters)
        for server in _SERVERS:
            if server.module in sys.modules:
                self._await(server, vars(sys.modules[server.module]).get("Scheduler"))
        return None

    def _await(self, server: _Server, scheduler: Any) -> None:
        """Wait for the next step of a server, unless this does already."""
        method = getattr(scheduler, "__dict__", {}).get(server.method)
        if not callable(method) or method is self._waits:
            return

        @functools.wraps(method)
        def called(itself: Any, *arguments: Any, **named: Any) -> Any:
            if vars(scheduler).get(server.method) is called:  # else somebody has replaced it after us
                setattr(scheduler, server.method, method)
            with ignored(TypeError):  # no weak reference can be had
                self._read, self._known = server.read, weakref.ref(_at(itself, *server.path))
            return method(itself, *arguments, **named)

        self._waits = called
        setattr(scheduler, server.method, called)


def _at(thing: Any, *path: str) -> Any:
    """Return what an attribute of an attribute of something is, without calling anything; None if there is none."""
    for name in path:
        thing = getattr(thing, "__dict__", {}).get(name)
    return thing


def _blocks(pool: Any) -> Use | None:
    """Read vLLM's pool. Its first block holds nothing, and is never free. Blocks of finished requests are free: they
    are there until others need them."""
    number, free = _at(pool, "num_gpu_blocks"), _at(pool, "free_block_queue", "num_free_blocks")
    if not isinstance(number, int) or not isinstance(free, int) or not 0 <= free < number:
        return None
    return Use("vLLM", number - 1 - free, number - 1, "blocks")


def _tokens(stats: Any) -> Use | None:
    """Read SGLang's statistics, which it renews when it logs a batch, if it was started with --enable-metrics."""
    counts = [_at(stats, f"kv_{what}_tokens") for what in ("used", "evictable", "available")]
    if not all(isinstance(count, int) and count >= 0 for count in counts) or not any(counts):
        return None
    return Use("SGLang", counts[0], sum(counts), "tokens")


class _Server(NamedTuple):
    module: str  # of the class Scheduler
    method: str  # that it calls in each step
    path: tuple[str, ...]  # from it to its counters
    read: Callable[[Any], Use | None]


_SERVERS = (
    _Server("vllm.v1.core.sched.scheduler", "schedule", ("kv_cache_manager", "block_pool"), _blocks),
    _Server("sglang.srt.managers.scheduler", "run_batch", ("metrics_reporter", "stats"), _tokens),
)
