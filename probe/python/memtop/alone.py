"""One rank of a job whose other ranks do not run: a rehearsal of a job too large for this machine.

Collectives are done by the imitated NCCL. What ranks agree on beside that goes through a
store, and this one answers for the others: each is taken to have written what this rank has.
"""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

WORLD = "MEMTOP_REHEARSAL_WORLD"  # how many ranks there would be


class Store(dist.Store):  # type: ignore[misc]
    """Keeps what this rank writes. What it waits for of others is there at once."""

    def __init__(self, ranks: int) -> None:
        super().__init__()
        self._ranks = ranks
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def set(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._values[key] = value.encode() if isinstance(value, str) else value

    def get(self, key: str) -> bytes:
        with self._lock:
            return self._values.get(key) or bytes(128)  # an identity of NCCL's has so many

    def add(self, key: str, number: int) -> int:
        """Return the sum as if every rank had added as much."""
        with self._lock:
            mine = int(self._values.get(key) or b"0") + number
            self._values[key] = str(mine).encode()
            return mine * self._ranks

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        with self._lock:
            if self._values.get(key, b"") == expected.encode():
                self._values[key] = desired.encode()
            return self._values.get(key) or expected.encode()

    def check(self, keys: list[str]) -> bool:
        return True

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return at once."""

    def delete_key(self, key: str) -> bool:
        with self._lock:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        with self._lock:
            return len(self._values)

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing takes time."""


def begin() -> None:
    """Have the program's process group be one of which only this rank is there."""
    original = distributed_c10d.init_process_group
    ranks = int(os.environ[WORLD])

    def alone(backend: str | None = None, init_method: str | None = None, *rest: Any, **named: Any) -> Any:
        for name in ("init_method", "store", "rank", "world_size"):
            named.pop(name, None)
        if backend is None or "nccl" not in backend:
            backend = "nccl"  # gloo would look for the others
        if rest and "timeout" not in named:
            named["timeout"] = rest[0]
        return original(backend, store=Store(ranks), rank=int(os.environ["RANK"]), world_size=ranks, **named)

    distributed_c10d.init_process_group = alone
    dist.init_process_group = alone
