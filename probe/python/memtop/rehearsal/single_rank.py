"""A rehearsal of one rank of a job that is too large for this machine: the other ranks do not run.

The imitated NCCL does the collectives. Ranks also agree through a store; the store here answers for
the missing ranks, as if each had written what this rank writes.
"""

from __future__ import annotations

import os
import sys
import threading
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

from .imitated import told

_stores: list[Any] = []  # groups of earlier versions of PyTorch keep only the half in C++


class Store(dist.Store):  # type: ignore[misc]
    """Keeps what this rank writes, and never waits for the other ranks."""

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
            return self._values.get(key) or bytes(128)  # the length of an NCCL unique id

    def add(self, key: str, number: int) -> int:
        """Return the sum, as if every rank had added the same number."""
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
        with self._lock:
            return all(key in self._values for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Return at once."""

    def delete_key(self, key: str) -> bool:
        with self._lock:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        with self._lock:
            return len(self._values)

    def set_timeout(self, timeout: timedelta) -> None:
        """Do nothing: no call waits."""


def begin() -> None:
    """Make `init_process_group` create a group in which only this rank runs."""
    original = distributed_c10d.init_process_group
    ranks = int(told()["world"])

    def alone(backend: str | None = None, init_method: str | None = None, *rest: Any, **named: Any) -> Any:
        for name in ("init_method", "store", "rank", "world_size"):
            named.pop(name, None)
        if backend is None or "nccl" not in backend:
            backend = "nccl"  # gloo would connect to the other ranks
        if rest and "timeout" not in named:
            named["timeout"] = rest[0]
        _stores.append(Store(ranks))
        return original(backend, store=_stores[-1], rank=int(os.environ["RANK"]), world_size=ranks, **named)

    replace("init_process_group", alone)


def replace(name: str, by: Any) -> None:
    """Replace a function of PyTorch's groups in all modules that have imported it, as `device_mesh` does."""
    original = getattr(distributed_c10d, name)
    for path, module in list(sys.modules.items()):
        if path.startswith("torch.distributed") and vars(module).get(name) is original:
            setattr(module, name, by)
