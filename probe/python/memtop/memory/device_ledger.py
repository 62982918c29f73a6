"""The device ledger: what this program and others have of a device's memory, as the driver counts it.

It is raw figures, as the ledger of the host is: a viewer makes rows of them that add up. All is read by the link's
thread: the driver's figures from its management library, PyTorch's counters, and what the library in front of the
driver has noted, if the program has one. No context is asked, no device is waited for, no tensor is touched.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Mapping
from typing import Any, Callable

from ..link.program import Json
from ..link.queue import GAUGES, Link, now_us
from ..safety.interrupts import ignored
from ..watch.sampling import Sampling
from . import counters, cuda
from .callers import PYTORCH, Callers, Taken
from .nccl import communicators
from .nvml import Nvml, User
from .pools import Pools
from .server_tags import tagged
from .snapshots import snapshot

FOLLOWING, IDLE = 1.0, 10.0  # seconds between two looks, with viewers and without
SHARE, CREDIT_NS = 0.0005, 100_000_000  # of the program's time, for looks, and at once


class DeviceLedger:
    """Looks at the devices of this program, and sends gauges of them. Any thread may set `watched` and read `latest`;
    `due` and `tend` belong to the link's thread."""

    def __init__(self, link: Link, step: Callable[[], int]) -> None:
        self._link = link
        self._step = step
        self.kept: Callable[[], bool] = lambda: False  # whether there is a black box
        self.watched = False
        self.latest: tuple[Json, ...] = ()
        self._looked = time.monotonic()
        self._purse = Sampling(SHARE, CREDIT_NS)
        self._pools = Pools()
        self._cost_ns = 0
        self._opened = False
        self._nvml: Nvml | None = None
        self._found: dict[int, Any] = {}  # by device, the driver's name of it
        self._callers: Callers | None = None
        self._segments: tuple[int, list[tuple[int, int]]] = (0, [])  # of PyTorch's, and how much it had then

    def due(self) -> float | None:
        """Return when to call `tend`, None for never."""
        if (self._opened and self._nvml is None) or not (self.watched or self.kept()):
            return None
        return self._looked + (FOLLOWING if self.watched else IDLE)

    def tend(self) -> None:
        """Look, if the time since the last look pays for it."""
        now = time.monotonic()
        since, self._looked = now - self._looked, now
        if not cuda.allocator() or not self._has_driver() or not self._purse.next(round(since * 1e9)):
            return
        start = time.thread_time_ns()
        with ignored(OSError):
            if found := self._look():
                self.latest = tuple(found)
                self._link.message(GAUGES, found)
        cost = time.thread_time_ns() - start
        self._purse.pay(cost)
        self._cost_ns += cost

    def _has_driver(self) -> bool:
        """Report whether there is a driver to ask, and begin to if nobody has: that may take a tenth of a second."""
        if not self._opened:
            self._opened = True
            with ignored(OSError, AttributeError):
                self._nvml = Nvml()
            with ignored(AttributeError, ValueError):
                self._callers = Callers()
        return self._nvml is not None

    def _look(self) -> list[Json]:
        stats = counters.used()
        reserved = {device: counters.amount(of, "reserved_bytes") for device, of in stats.items()}
        taken = self._taken(reserved)
        return [gauge for device, size in reserved.items() if (gauge := self._gauge(device, size, taken))]

    def _gauge(self, device: int, reserved: int, taken: list[Taken] | None) -> Json | None:
        card = self._card(device)
        if card is None or self._nvml is None:
            return None
        users, moment = self._nvml.users(card), now_us()  # what follows may take a while
        gauge = _driver(self._nvml.memory(card), users)
        ledger: Json = {"step": self._step(), "reserved": reserved, "cost_ns": self._cost_ns}
        if taken is not None and self._callers is not None:
            ledger["watched"] = True
            ledger["taken"] = [each.json() for each in taken if each.device in (device, -1)]
            for name, value in (("before", self._callers.before(device)), ("lost", self._callers.lost)):
                if value:
                    ledger[name] = value
        if groups := communicators(device):
            ledger["communicators"] = groups
        if tags := self._tags(device):
            ledger["tags"] = tags
        if use := self._pools.use():
            ledger["cache"] = use._asdict()
        return {"device": device, "time_us": moment, **gauge, "ledger": ledger}

    def _tags(self, device: int) -> list[Json]:
        """Return what a server's allocator calls its memory, and how much of it is awake: -1 if nobody sees that."""
        found: list[Json] = []
        for tag, ranges in tagged(device).items():
            backed = -1
            if self._callers is not None:
                backed = sum(t.inside for t in self._callers.taken(ranges) if t.device == device)
            found.append({"name": tag, "bytes": sum(size for _, size in ranges), "backed": backed})
        return found

    def _card(self, device: int) -> Any:
        if device not in self._found and self._nvml is not None:
            uuid = _uuid(device)
            self._found[device] = self._nvml.card(uuid) if uuid else None
        return self._found.get(device)

    def _taken(self, reserved: Mapping[int, int]) -> list[Taken] | None:
        """Return what libraries took, None if nobody sees that. What others than PyTorch's allocator took may belong to
        it all the same, in a pool of the program's own: the addresses say so."""
        if self._callers is None:
            return None
        taken = self._callers.taken()
        sums = [t for t in taken if t.device >= 0 and t.kind in ("device", "created")]
        missing = sum(reserved.values()) - sum(t.bytes for t in sums if t.library == PYTORCH)
        if missing <= 0 or all(t.library == PYTORCH for t in sums):
            return taken
        if self._segments[0] != sum(reserved.values()):
            found = snapshot()["segments"]
            self._segments = sum(reserved.values()), sorted((s["address"], s["total_size"]) for s in found)
        return self._callers.taken(self._segments[1])


def _driver(memory: tuple[int, int] | None, users: list[User] | None) -> Json:
    """Return what the driver says. A device without memory of its own has the machine's, which the host adds."""
    figures: Json = {"utilisation_percent": -1, "temperature_celsius": -1, "power_milliwatts": -1}
    figures["unified"] = memory is None
    figures["device_total_bytes"], figures["device_used_bytes"] = memory or (0, 0)
    own = [user.bytes for user in users or () if user.pid == os.getpid()]
    figures["process_bytes"] = own[0] if own else -1
    others = [user for user in users or () if user.pid != os.getpid()]
    known = users is not None and all(user.bytes >= 0 for user in others)
    figures["other_bytes"] = sum(user.bytes for user in others) if known else -1
    if others:
        figures["users"] = [user._asdict() for user in others]
    return figures


def _uuid(device: int) -> bytes:
    """Return the identifier of a device as the program counts them, b"" if the driver does not say. It asks about the
    device, not about a context."""
    number, found = ctypes.c_int(), ctypes.create_string_buffer(16)
    with ignored(OSError, AttributeError):
        driver = ctypes.CDLL("libcuda.so.1")
        if not driver.cuDeviceGet(ctypes.byref(number), device):
            ask = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
            return b"" if ask(found, number) else found.raw
    return b""
