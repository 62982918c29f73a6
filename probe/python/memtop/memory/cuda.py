"""The memory of a program that uses PyTorch's caching allocator, on CUDA or ROCm devices.

The allocator's own snapshots show every allocation. The registry adds what the memory is for.
Nothing here initialises a device, waits for one, or resets a counter.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..link.program import Json, Memory
from ..link.queue import Link, Tags
from .counters import amount, used
from .history import History
from .peaks import Peaks
from .registry import Holding, Registry
from .shortening import pickled
from .snapshots import Snapshots, snapshot
from .source import Notes, amounts

_SETTINGS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")

LOOK, REST = "a look", "a program at rest"  # what needs the history
PATIENCE = 2.0  # seconds without a step, after which snapshots no longer wait for the end of one
NATIVE = "native"  # PyTorch's name for its own allocator
_HIGHEST = ("highest_allocated_bytes", "highest_reserved_bytes")
COUNTING_NS = 10_000_000_000  # how often to look for further devices while no viewer watches


def allocator() -> str:
    """Return the name of the allocator of the program's devices, "" if it uses none."""
    return backend() if torch.cuda.is_initialized() else ""


def backend() -> str:
    """Return the name of the allocator. The devices must be initialised, or the caller must be initialising them."""
    return str(torch._C._cuda_getAllocatorBackend())


def present() -> bool:
    """Report whether the program uses such a device with PyTorch's own allocator."""
    return allocator() == NATIVE


def amds() -> bool:
    """Report whether they are AMD's devices, whose driver has another management library."""
    return torch.version.hip is not None


class CudaMemory:
    """Counts the bytes of each category, and takes snapshots. The registry's lock guards everything but the
    snapshots."""

    host = False
    stacks = False  # the allocator records them

    def __init__(self, link: Link, history: History) -> None:
        self._link = link
        self._notes = Notes(link)
        self.history = history
        self._snapshots = Snapshots(link, self)
        link.tasks.append(self._snapshots)
        self._registry: Registry | None = None
        self._categories: dict[int, dict[str, int]] = {}  # bytes by category, by device
        self._changes = 0  # how often a category has changed
        self._peaks = Peaks()
        self._stepped = 0.0  # when a step last ended, by the monotonic clock
        self._used: tuple[int, list[int]] = (0, [])  # when devices were last counted, and those with memory
        self._highest: list[int | None] = []  # that `counters` returned last, and of which device
        self.settings: Json = {name: os.environ[name] for name in _SETTINGS if name in os.environ}

    def wanted(self, device: Any) -> bool:
        """Report whether the registry should track memory of this device."""
        return bool(device.type == "cuda")

    def born(self, holding: Holding) -> None:
        """Count a new storage."""
        self._add(holding, holding.category, holding.size)
        holding.counted = holding.category

    def changed(self, holding: Holding) -> None:
        """Count a storage under its new category."""
        self._add(holding, holding.counted, -holding.size)
        self.born(holding)

    def died(self, holding: Holding) -> None:
        """Stop counting a storage."""
        self._add(holding, holding.counted, -holding.size)

    def clear(self) -> None:
        """Forget all counts."""
        self._categories.clear()

    def begin(self, registry: Registry) -> None:
        """Begin to take snapshots. The first is taken before this returns."""
        self._registry = registry
        if time.monotonic() >= self.rests_at():
            self.rest()
        self._snapshots.begin()

    def end(self) -> None:
        """Stop taking snapshots and recording."""
        self._snapshots.end()
        self.history.off(LOOK)
        self.history.off(REST)

    def stepped(self) -> None:
        """Note that a step has ended."""
        self._stepped = time.monotonic()
        self.history.off(REST)

    def begin_step(self) -> None:
        """Record the allocator's history of the step that begins."""
        self.history.on(LOOK, fresh=True)
        self._peaks.begin(used(), snapshot(history=False))

    @property
    def device(self) -> int:
        """The device with the most memory when the step began."""
        return self._peaks.device

    def requests(self) -> int:
        """Return how many blocks the program has asked for and given back in this step."""
        stats = used()
        return self._peaks.requests(stats, self.device) if self.device in stats else 0

    def end_step(self) -> None:
        """Take a snapshot with the whole step in its history, from which the host plays it. Stop recording."""
        self._snapshots.take(self._peaks.played(used()))
        self.history.off(LOOK)

    def rests_at(self) -> float:
        """Return when snapshots no longer wait for the end of a step."""
        return self._stepped + PATIENCE

    def rest(self) -> None:
        """Record the history until the next step: the program has made none for a while."""
        self.history.on(REST)

    def look(self, registry: Registry) -> None:
        """Write a snapshot and the tags of what the registry knows into the link. If the program keeps a history of
        its own, a snapshot may take seconds, and there is none."""
        if self.history.foreign:
            return
        self._registry = registry
        tags = tuple(self.tags())
        self._link.snapshot(pickled(snapshot()), tags)

    def counters(self, now_ns: int) -> Json:
        """Return the counters of the device with the most in use, as in `measures`, at little cost; the highest values
        only if they have risen since the last call."""
        counted_ns, devices = self._used
        if not devices or now_ns - counted_ns > COUNTING_NS:
            devices = list(used())
            self._used = now_ns, devices
        counted = (_counters(device, torch._C._cuda_memoryStats(device)) for device in devices)
        most = max(counted, key=_known, default={})
        highest = [most.get(name) for name in ("device", *_HIGHEST)]
        if highest == self._highest:
            return {name: value for name, value in most.items() if name not in _HIGHEST}
        self._highest = highest
        return most

    def measures(self) -> Sequence[Json]:
        """Return the memory fields of a step's message, in bytes. A peak that is not known is not among them."""
        return sorted((self._measure(device, stats) for device, stats in used().items()), key=_known, reverse=True)

    def devices(self) -> Sequence[Memory]:
        """Return the devices on which the program has memory."""
        return [
            Memory(
                device,
                amount(stats, "allocated_bytes"),
                amount(stats, "reserved_bytes"),
                amount(stats, "requested_bytes") if "requested_bytes" in stats else None,
                stats.get("num_ooms"),
            )
            for device, stats in used().items()
        ] or [Memory(0, 0, 0)]

    def _measure(self, device: int, stats: Mapping[str, Any]) -> Json:
        allocated = amount(stats, "allocated_bytes")
        categories = dict(self._categories.get(device, {}))
        unknown = allocated - sum(categories.values())
        if unknown > 0:
            categories["other"] = categories.get("other", 0) + unknown
        peak = self._peaks.highest(device, stats)
        return {**_counters(device, stats), "categories": amounts(categories), **peak}

    def _add(self, holding: Holding, category: str, size: int) -> None:
        self._changes += 1
        categories = self._categories.setdefault(holding.device.index or 0, {})
        categories[category] = categories.get(category, 0) + size

    def tags(self) -> list[Tags]:
        """Return the category and names of each device's memory, as known now."""
        registry = self._registry
        if registry is None:
            return []
        notes: dict[int, list[tuple[int, int]]] = {}
        for holding in registry.holdings():  # without the lock: the training thread would wait for it
            notes.setdefault(holding.device.index or 0, []).append((holding.address, self._notes.of(holding)))
        return [Tags(device, tuple(sorted(notes[device]))) for device in sorted(notes)]

    def activity(self) -> object:
        counts = [(amount(s, "allocation", "allocated"), amount(s, "allocation", "freed")) for s in used().values()]
        return self._changes, counts


def _counters(device: int, stats: Mapping[str, Any]) -> Json:
    return {
        "device": device,
        "allocated_bytes": amount(stats, "allocated_bytes"),
        "reserved_bytes": amount(stats, "reserved_bytes"),
        "highest_allocated_bytes": amount(stats, "allocated_bytes", "peak"),
        "highest_reserved_bytes": amount(stats, "reserved_bytes", "peak"),
    }


def _known(measure: Json) -> int:
    return int(measure["allocated_bytes"])
