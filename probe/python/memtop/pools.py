"""Pools of blocks in which a server keeps keys and values. A pool takes its memory at once, so only its own
counters say how much of that is in use. This knows vLLM's `BlockPool`."""

from __future__ import annotations

import weakref
from typing import Any

PACKAGE, NAME = "vllm.", "BlockPool"


def is_pool(kind: type) -> bool:
    """Report whether a class is such a pool."""
    return kind.__name__ == NAME and kind.__module__.startswith(PACKAGE)


class Pools:
    """The pools of the program. It has only weak references to them, and reads fields without calling anything."""

    def __init__(self) -> None:
        self._known: list[weakref.ref[Any]] = []

    def know(self, pools: list[Any]) -> None:
        """Take in the pools that a scan found."""
        self._known = [weakref.ref(pool) for pool in pools]

    def usage(self) -> str:
        """Return how many blocks are in use, such as "812 of 2047 blocks", "" if no pool says it."""
        counts = [count for known in self._known if (count := _count(known())) is not None]
        if not counts:
            return ""
        return f"{sum(used for used, _ in counts)} of {sum(all_ for _, all_ in counts)} blocks"


def _count(pool: Any) -> tuple[int, int] | None:
    """Return the blocks in use and all blocks, without the first one, which holds nothing. None if they are not where
    the known versions have them."""
    fields = getattr(pool, "__dict__", {})
    number = fields.get("num_gpu_blocks")
    free = getattr(fields.get("free_block_queue"), "__dict__", {}).get("num_free_blocks")
    if not isinstance(number, int) or not isinstance(free, int) or not 0 <= free < number:
        return None
    return number - 1 - free, number - 1
