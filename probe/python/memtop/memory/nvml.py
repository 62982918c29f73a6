"""NVIDIA's management library: what the driver says of a device's memory, and of the processes that have some.

It knows nothing of CUDA contexts, so asking it touches nothing of the program. The library comes with the driver.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

NOT_SUPPORTED = 3  # what a device answers whose memory is the machine's
_UNKNOWN = 2**64 - 1  # the driver does not account for a process
_MOST = 256  # processes on a device


class User(NamedTuple):
    """A process on a device."""

    pid: int
    bytes: int  # -1 if the driver does not say


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("total", "free", "used")]


class _Process(ctypes.Structure):
    """Of version 2 and 3. Version 1 ends after the bytes."""

    _fields_ = [
        ("pid", ctypes.c_uint32), ("bytes", ctypes.c_uint64), ("instance", ctypes.c_uint32), ("part", ctypes.c_uint32)
    ]  # fmt: skip


class Nvml:
    """The library, once it has been loaded. One thread at a time may call it."""

    def __init__(self) -> None:
        """Raise an OSError if there is no such library, or if it does not begin."""
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        if self._library.nvmlInit_v2():
            raise OSError("the driver's management library does not begin")

    def card(self, uuid: bytes) -> Any:
        """Return the device with an identifier of 16 bytes, or the instance of one; None if there is none."""
        text = uuid.hex()
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        card = ctypes.c_void_p()
        for kind in ("GPU-", "MIG-"):
            if not self._library.nvmlDeviceGetHandleByUUID((kind + text).encode(), ctypes.byref(card)):
                return card
        return None

    def memory(self, card: Any) -> tuple[int, int] | None:
        """Return how many bytes the device has and how many are in use, None if it has no memory of its own. Raise an
        OSError if the driver does not answer."""
        found = _Memory()
        status = self._library.nvmlDeviceGetMemoryInfo(card, ctypes.byref(found))
        if status not in (0, NOT_SUPPORTED):
            raise OSError(f"the driver does not say what memory a device has: error {status}")
        return None if status or not found.total else (found.total, found.used)

    def users(self, card: Any) -> list[User] | None:
        """Return the processes that compute on a device, None if the driver does not list them."""
        ask = getattr(self._library, "nvmlDeviceGetComputeRunningProcesses_v3", None)
        if ask is None:
            return None
        count, found = ctypes.c_uint(_MOST), (_Process * _MOST)()
        if ask(card, ctypes.byref(count), found):
            return None
        return [User(p.pid, -1 if p.bytes == _UNKNOWN else p.bytes) for p in found[: count.value]]
