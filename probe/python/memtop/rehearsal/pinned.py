"""Pinned host memory of a rehearsed program: what PyTorch's pool of it has at most, and what of that is rounding.

PyTorch rounds each request up, by default to a power of two, and has only the rounded sizes in its counters and
its history. So the operations that make pinned tensors are replaced by functions that call PyTorch's own and note how
much the tensor has of what the pool gave for it.
"""

from __future__ import annotations

import threading
import warnings
from functools import partial
from typing import Any, Callable

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..memory import heaps
from ..safety.threads import called_by_pytorch
from .known_operations import hidden

MAKERS = ("empty.memory_format", "empty_strided", "_pin_memory")
ALWAYS = "_pin_memory"  # the one that is not told to pin

Function = Callable[..., Any]


class Pinned:
    """Follows one process. Threads of the program call the operations."""

    def __init__(self) -> None:
        self._library: Any = None
        self._lock = threading.RLock()
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}  # by address, the bytes that were added to round it up
        self._used = 0  # bytes in use, at most
        self._rounding = 0  # of these
        self._peaks = heaps.PinnedPeaks(0, 0)  # before the program last reset them

    def begin(self) -> None:
        """Replace the operations, if this PyTorch counts pinned memory and can call its own from others (2.9)."""
        if heaps.pinned_peaks() is None:
            return
        reset = torch._C._cuda_resetPeakHostMemoryStats

        def noted() -> Any:
            self._look()
            return reset()

        torch._C._cuda_resetPeakHostMemoryStats = noted
        if not hasattr(torch.library, "get_kernel"):
            return
        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a function being replaced
            for name in MAKERS:
                original = torch.library.get_kernel(f"aten::{name}", "CPU").call_boxed
                self._library.impl(name, partial(self._make, name == ALWAYS, original), "CPU", with_keyset=True)

    @hidden
    def _make(self, pins: bool, original: Function, keys: Any, *arguments: Any, **named: Any) -> Any:
        if not pins and not named.get("pin_memory"):
            return original(keys, *arguments, **named)
        if not torch.cuda._is_in_bad_fork():
            torch.cuda.init()  # PyTorch does it now, but not so that the history would begin
        with self._lock:
            before = heaps.pinned_given()
            result = original(keys, *arguments, **named)
            self._born(result, heaps.pinned_given() - before)
        return result

    @called_by_pytorch
    def _born(self, made: Any, given: int) -> None:
        """Note a tensor for which the pool gave so many bytes, and what is rounding if more is in use than ever."""
        with torch._C.DisableTorchFunction():
            storage = made.untyped_storage()
            self._alive[storage.data_ptr()] = StorageWeakRef(storage), max(given - storage.nbytes(), 0)
        used = heaps.pinned()[1]
        if used > self._used:
            self._used = used
            self._alive = {at: each for at, each in self._alive.items() if not each[0].expired()}
            self._rounding = sum(rounding for _, rounding in self._alive.values())

    def _look(self) -> None:
        now = heaps.pinned_peaks()
        if now is not None:
            self._peaks = heaps.PinnedPeaks(*map(max, self._peaks, now))

    def told(self) -> dict[str, int]:
        """Return the bytes that the pool had at most, that were in use at most, and that were rounding then; nothing
        if there were none, or this PyTorch does not count them."""
        self._look()
        if not self._peaks.held:
            return {}
        return {"pinned": self._peaks.held, "used": self._peaks.used, "rounding": self._rounding}
