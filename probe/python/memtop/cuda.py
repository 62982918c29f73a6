"""The memory of a program with PyTorch's caching allocator, on devices of CUDA or ROCm.

What happens to it is the allocator's to tell: its own snapshots say so. The registry
adds what the memory is for. Nothing here initialises a device, waits for one, or
resets a counter.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .history import History
from .journal import Journal, Tags
from .program import Json, Memory
from .registry import Holding, Registry
from .snapshots import Snapshots, snapshot
from .source import Notes, amounts

_SETTINGS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


NATIVE = "native"  # so PyTorch calls its own allocator


def allocator() -> str:
    """Return the allocator of the devices that the program uses, "" while it uses none."""
    return backend() if torch.cuda.is_initialized() else ""


def backend() -> str:
    """Return the allocator of the devices. They are initialised, or are being initialised by this call's caller."""
    name = getattr(torch._C, "_cuda_getAllocatorBackend", None)
    return NATIVE if name is None else str(name())


def present() -> bool:
    """Report whether the program uses such a device, through PyTorch's own allocator."""
    return allocator() == NATIVE


class CudaMemory:
    """Adds up what storages are for, and has snapshots taken. What does not concern those is guarded by the registry's
    lock."""

    host = False
    stacks = False  # the allocator knows them

    def __init__(self, journal: Journal) -> None:
        self._notes = Notes(journal)
        self._history = History()
        self._snapshots = Snapshots(journal, self._tags, self._activity)
        self._registry: Registry | None = None
        self._categories: dict[int, dict[str, int]] = {}  # by device
        self._changes = 0  # how often something was learned
        self._peaks: dict[int, int] = {}  # the allocator's when the step began
        self.settings: Json = {name: os.environ[name] for name in _SETTINGS if name in os.environ}

    def wanted(self, device: Any) -> bool:
        """Report whether memory of that device is the registry's."""
        return bool(device.type == "cuda")

    def born(self, holding: Holding) -> None:
        """Count new memory."""
        self._add(holding, holding.category, holding.size)
        holding.counted = holding.category

    def changed(self, holding: Holding) -> None:
        """Count memory as what it is now known to be for."""
        self._add(holding, holding.counted, -holding.size)
        self.born(holding)

    def died(self, holding: Holding) -> None:
        """Count memory no longer."""
        self._add(holding, holding.counted, -holding.size)

    def clear(self) -> None:
        """Begin anew, with nothing."""
        self._categories.clear()

    def begin(self, registry: Registry) -> None:
        """Have the allocator record, and snapshots taken. The first one has been when this returns."""
        self._registry = registry
        self._history.on()
        self._snapshots.begin()

    def end(self) -> None:
        """Have no more snapshots taken, and the allocator record only what the program wants."""
        self._snapshots.end()
        self._history.off()

    def begin_step(self) -> None:
        """Note the highest peak so far, to know whether the step makes a higher one."""
        self._peaks = {device: amount(stats, "allocated_bytes", "peak") for device, stats in used().items()}

    def measures(self) -> Sequence[Json]:
        """Return what the messages of a step say of memory, in bytes. Of the peak they do where the step has made the
        highest so far: PyTorch's counter is not to be reset, and the allocator's events tell the others."""
        return sorted((self._measure(device, stats) for device, stats in used().items()), key=_known, reverse=True)

    def devices(self) -> Sequence[Memory]:
        """Return the devices that the program has memory on."""
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

    def snapshot(self) -> bytes:
        """Return PyTorch's own."""
        return snapshot()

    def _measure(self, device: int, stats: Mapping[str, Any]) -> Json:
        allocated, peak = amount(stats, "allocated_bytes"), amount(stats, "allocated_bytes", "peak")
        categories = dict(self._categories.get(device, {}))
        unknown = allocated - sum(categories.values())
        if unknown > 0:
            categories["other"] = categories.get("other", 0) + unknown
        measure: Json = {
            "device": device, "allocated_bytes": allocated, "reserved_bytes": amount(stats, "reserved_bytes"),
            "categories": amounts(categories),
        }  # fmt: skip
        if peak > self._peaks.get(device, 0):
            measure["peak_allocated_bytes"] = peak
            measure["peak_reserved_bytes"] = amount(stats, "reserved_bytes", "peak")
        return measure

    def _add(self, holding: Holding, category: str, size: int) -> None:
        self._changes += 1
        categories = self._categories.setdefault(holding.device.index or 0, {})
        categories[category] = categories.get(category, 0) + size

    def _tags(self) -> list[Tags]:
        """Return what is known of the memory of each device, as of now."""
        registry = self._registry
        if registry is None:
            return []
        notes: dict[int, list[tuple[int, int]]] = {}
        for holding in registry.holdings():  # not under its lock, for which the thread that trains would wait
            notes.setdefault(holding.device.index or 0, []).append((holding.address, self._notes.of(holding)))
        return [Tags(device, tuple(sorted(notes[device]))) for device in sorted(notes)]

    def _activity(self) -> object:
        counts = [(amount(s, "allocation", "allocated"), amount(s, "allocation", "freed")) for s in used().values()]
        return self._changes, counts


def used() -> dict[int, Mapping[str, Any]]:
    """Return the allocator's counters of the devices that the program has, or had, memory on, by their number."""
    found: dict[int, Mapping[str, Any]] = {}
    for device in range(torch._C._cuda_getDeviceCount()):
        stats = torch._C._cuda_memoryStats(device)
        if amount(stats, "reserved_bytes", "peak"):
            found[device] = stats
    return found


def amount(stats: Mapping[str, Any], name: str, which: str = "current") -> int:
    """Return one of the allocator's counters, for all of its pools."""
    return int(stats.get(name, {}).get("all", {}).get(which, 0))


def _known(measure: Json) -> int:
    return int(measure["allocated_bytes"])
