"""How much memory the allocators of this process hold: Python's own, C's malloc, and PyTorch's pinned pool.

Each is asked for its counters by a C function that runs no code of the program. Python's allocator walks its pools,
malloc the lists of its free chunks, so neither is asked often: `Ledger` pays for it.
"""

from __future__ import annotations

import ctypes
import re
import sys
from typing import Any, Callable, NamedTuple

import torch

_ARENAS = re.compile(rb"(\d+) arenas \* (\d+) bytes/arena")


class Malloc(NamedTuple):
    """The counters of C's allocator, in bytes."""

    used: int  # in blocks that were not freed
    free: int  # freed, and kept for later blocks


class _Info(ctypes.Structure):
    """What `mallinfo2` of glibc 2.33 and later returns. The older `mallinfo` counts in 32 bits."""

    _names = "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Callable[..., Any] | None:
    function = getattr(library, name, None)
    if function is not None:
        function.restype, function.argtypes = result, arguments
    return function


_C = ctypes.CDLL(None)
_mallinfo = _function(_C, "mallinfo2", _Info)
_open = _function(_C, "open_memstream", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_close = _function(_C, "fclose", ctypes.c_int, ctypes.c_void_p)
_free = _function(_C, "free", None, ctypes.c_void_p)
# Called with Python's global lock, because it walks what that lock guards.
_write_counters = _function(ctypes.pythonapi, "_PyObject_DebugMallocStats", ctypes.c_int, ctypes.c_void_p)


def malloc() -> Malloc | None:
    """Return what malloc holds, None if another allocator stands in its place or the C library does not say."""
    info = _mallinfo() if _mallinfo else None
    if info is None or not info.arena + info.hblkhd:
        return None
    return Malloc(info.uordblks + info.hblkhd, info.fordblks)


def python() -> int | None:
    """Return the bytes of the arenas of Python's allocator, which has all objects of up to 512 bytes. None if this
    interpreter uses another, as with PYTHONMALLOC=malloc or without a global lock."""
    if not (_write_counters and _open and _close and _free) or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = _open(ctypes.byref(text), ctypes.byref(size))
    if not stream:
        return None
    _write_counters(stream)
    _close(stream)
    found = _ARENAS.search(ctypes.string_at(text.value, size.value)) if text.value else None
    _free(text)
    return int(found[1]) * int(found[2]) if found else None


_stats: Callable[[], dict[str, Any]] | None = getattr(torch._C, "_cuda_hostMemoryStats", None)  # from 2.7 on


class PinnedPeaks(NamedTuple):
    """The most bytes that PyTorch's pool of pinned memory had, and that tensors had of it."""

    held: int
    used: int


def pinned() -> tuple[int, int]:
    """Return the bytes of PyTorch's pool of pinned memory, and how many of them tensors have; zeros if it does not
    say."""
    return _counted("current")


def pinned_peaks() -> PinnedPeaks | None:
    """Return the most that there were since the last reset; None if this PyTorch does not count."""
    return None if _stats is None else PinnedPeaks(*_counted("peak"))


def pinned_given() -> int:
    """Return the bytes that the pool has given to tensors until now, with what they gave back."""
    return _counted("allocated")[1]


def _counted(what: str) -> tuple[int, int]:
    if _stats is None or not torch.cuda.is_initialized():
        return 0, 0
    counters = _stats()
    whole = counters.get("reserved_bytes", counters.get("allocated_bytes"))  # the former up to 2.14
    return _number(whole, what), _number(counters.get("active_bytes"), what)


def _number(counter: Any, what: str) -> int:
    return int(counter[what]) if isinstance(counter, dict) else 0
