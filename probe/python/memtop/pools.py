"""How much of its cache of keys and values a server has in use: vLLM's blocks, SGLang's tokens.

A server takes the cache's memory at once, so only its own counters say this. They are plain numbers in objects of its
engine. vLLM hides these from Python's garbage collector (it freezes its heap) and calls no hook while it runs what it
has compiled. But the engine's loop is on the stack of one of the program's threads, so its frame leads there. That and
reading the numbers runs no code of the program and touches no tensor, so any thread may do it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from .living import is_alone


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

    def use(self) -> Use | None:
        """Return what is in use now. None without a server, if it keeps its counters elsewhere than the known versions,
        or if it has not counted yet."""
        counters = self._known()
        if counters is None and is_alone() and not _LOOPS.keys().isdisjoint(sys.modules):
            for engine, path, self._read in _engines():
                counters = _at(engine, *path)
                if counters is not None:
                    self._known = weakref.ref(counters)
        return None if counters is None else self._read(counters)


def _engines() -> Iterator[tuple[Any, tuple[str, ...], Callable[[Any], Use | None]]]:
    """Yield the engines whose loops run, where each has its counters, and what reads them."""
    for frame in sys._current_frames().values():
        caller: Any = frame
        while caller is not None:
            functions, path, read = _LOOPS.get(caller.f_globals.get("__name__"), ((), (), lambda _: None))
            if caller.f_code.co_name in functions:
                yield caller.f_locals.get("self"), path, read
            caller = caller.f_back


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


# By module: the functions whose `self` is an engine, where its counters are, and what reads them.
_LOOPS: dict[Any, tuple[tuple[str, ...], tuple[str, ...], Callable[[Any], Use | None]]] = {
    "vllm.v1.engine.core": (
        ("run_busy_loop", "step", "step_with_batch_queue"),
        ("scheduler", "kv_cache_manager", "block_pool"),
        _blocks,
    ),
    "sglang.srt.managers.scheduler": (("run_event_loop",), ("metrics_reporter", "stats"), _tokens),
}
