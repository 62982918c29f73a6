"""A stand-in for PyTorch's caching allocator on a CUDA device: it replays a recorded snapshot.

It replaces the allocator's functions in `torch._C`, so PyTorch's own Python code and the agent
run as on a machine with a device. At each moment it has the segments and blocks of that moment in
the snapshot's history.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import torch

ACTIVE, PENDING, INACTIVE = "active_allocated", "active_pending_free", "inactive"


class Device:
    """The memory of a device between two events of its history."""

    def __init__(self, number: int, segments: list[dict[str, Any]], trace: list[dict[str, Any]]) -> None:
        self.number = number
        self.trace = trace
        self.at = len(trace)
        self.segments = {s["address"]: {k: v for k, v in s.items() if k != "blocks"} for s in segments}
        self.blocks = {b["address"]: dict(b) for s in segments for b in s["blocks"] if b["state"] != INACTIVE}
        self.real: dict[int, dict[str, Any]] = {}  # by event, the block or segment that it added
        self.recorded: deque[dict[str, Any]] = deque()
        self.counts = {"allocated": 0, "freed": 0}
        while self.at > 0:
            self._back()
        self._grow_blocks()
        self.peaks: dict[str, int] = {}
        stats = self.stats()
        self.running = {name: stats[name]["all"]["current"] for name in ("allocated_bytes", "reserved_bytes")}
        self.peaks = dict(self.running)

    def advance(self, events: int, recording: bool) -> int:
        """Let events happen; return how many there were."""
        count = min(events, len(self.trace) - self.at)
        for _ in range(count):
            event = self.trace[self.at]
            self._forth(event)
            self.at += 1
            if recording:
                self.recorded.append(event)
        return count

    def stats(self) -> dict[str, Any]:
        """Return the counters as `_cuda_memoryStats` does."""
        active = list(self.blocks.values())
        current = {
            "allocated_bytes": sum(b["size"] for b in active if b["state"] == ACTIVE),
            "reserved_bytes": sum(s["total_size"] for s in self.segments.values()),
            "requested_bytes": sum(b["requested_size"] for b in active if b["state"] == ACTIVE),
        }
        found = {
            name: {"all": {"current": value, "peak": self.peaks.get(name, value)}} for name, value in current.items()
        }
        return {**found, "allocation": {"all": dict(self.counts)}, "num_ooms": 0}

    def described(self) -> Iterator[dict[str, Any]]:
        """Yield the segments with their blocks, the free ones too."""
        blocks = [self.blocks[address] for address in sorted(self.blocks)]
        place = 0
        for address in sorted(self.segments):
            segment = dict(self.segments[address])
            end, at, inside = address + segment["total_size"], address, []
            while place < len(blocks) and blocks[place]["address"] < end:
                block = blocks[place]
                if block["address"] > at:
                    inside.append(_free(at, block["address"] - at))
                inside.append(dict(block))
                at = block["address"] + block["size"]
                place += 1
            if at < end:
                inside.append(_free(at, end - at))
            active = [b for b in inside if b["state"] != INACTIVE]
            allocated = [b for b in active if b["state"] == ACTIVE]
            segment.update(
                blocks=inside,
                allocated_size=sum(b["size"] for b in allocated),
                active_size=sum(b["size"] for b in active),
                requested_size=sum(b["requested_size"] for b in active),
            )
            yield segment

    def _back(self) -> None:
        self.at -= 1
        event = self.trace[self.at]
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            block = {**self.blocks.pop(address), "state": ACTIVE}
            self.real[self.at] = {**block, "frames": event.get("frames", block.get("frames", []))}
        elif action == "free_requested":
            self.blocks[address]["state"] = ACTIVE
        elif action == "free_completed":
            size = -(-event["size"] // 512) * 512
            self.blocks[address] = {
                "address": address, "size": size, "requested_size": event["size"], "state": PENDING,
                "frames": event.get("frames", []),
            }  # fmt: skip
        elif action == "segment_alloc":
            self.real[self.at] = self.segments.pop(address)
        elif action == "segment_free":
            self.segments[address] = {
                "device": self.number, "address": address, "total_size": event["size"], "stream": event["stream"],
                "segment_type": "small" if event["size"] == 2 << 20 else "large", "segment_pool_id": (0, 0),
                "is_expandable": False, "frames": event.get("frames", []),
            }  # fmt: skip
        elif action not in ("snapshot", "oom"):
            raise ValueError(f"the stand-in does not know {action}")

    def _forth(self, event: dict[str, Any]) -> None:
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            size, frames = self._size(address, event["size"]), event.get("frames", [])
            self.blocks[address] = {**self.real[self.at], "size": size, "frames": frames}
            self._grow("allocated_bytes", self.blocks[address]["size"])
            self.counts["allocated"] += 1
        elif action == "free_requested":
            self.blocks[address]["state"] = PENDING
            self._grow("allocated_bytes", -self.blocks[address]["size"])
            self.counts["freed"] += 1
        elif action == "free_completed":
            del self.blocks[address]
        elif action == "segment_alloc":
            self.segments[address] = self.real[self.at]
            self._grow("reserved_bytes", event["size"])
        elif action == "segment_free":
            self._grow("reserved_bytes", -self.segments.pop(address)["total_size"])

    def _size(self, address: int, requested: int) -> int:
        """Return the size that a block becomes: the allocator leaves no piece too small for its kind of segment."""
        segment = max(a for a in self.segments if a <= address)
        end = segment + self.segments[segment]["total_size"]
        size = -(-requested // 512) * 512
        free = min((a for a in self.blocks if address < a < end), default=end) - address
        return size if free - size > self._least(segment) else free

    def _least(self, segment: int) -> int:
        """Return the size up to which no piece of a segment may remain."""
        about = self.segments[segment]
        return 0 if about["segment_type"] == "small" or about.get("is_expandable") else 1 << 20

    def _grow_blocks(self) -> None:
        """Add to each block the bytes behind it that are too few to be a piece of their own."""
        for segment in self.described():
            before = None
            for block in segment["blocks"]:
                if block["state"] != INACTIVE:
                    before = block["address"]
                elif before is not None and block["size"] <= self._least(segment["address"]):
                    self.blocks[before]["size"] += block["size"]

    def _grow(self, name: str, size: int) -> None:
        self.running[name] += size
        self.peaks[name] = max(self.peaks[name], self.running[name])


class Allocator:
    """All devices of a program. `replaced` returns the functions of `torch._C` that it replaces."""

    def __init__(self, path: Path, now: bool = True) -> None:
        """Begin at the start of a snapshot's history. If wanted, move its times to now."""
        with open(path, "rb") as file:
            self.contents = pickle.load(file)
        traces = self.contents["device_traces"]
        if now:
            _move(traces)
        segments = self.contents["segments"]
        count = max(len(traces), 1 + max((s["device"] for s in segments), default=0))
        self.devices = [
            Device(n, [s for s in segments if s["device"] == n], traces[n] if n < len(traces) else [])
            for n in range(count)
        ]
        self.most: int | None = None  # entries of the history, None while it is off
        self.switched: list[tuple[Any, ...]] = []  # the arguments of each call
        self.total = 80 << 30  # bytes of each device
        self.snapshots = 0
        self.lock = threading.Lock()
        self.observers: list[Callable[[int, int, int, int], None]] = []

    def advance(self, events: int) -> int:
        """Let events happen on each device; return how many there were."""
        happened = 0
        with self.lock:
            for device in self.devices:
                happened += device.advance(events, self.most is not None)
                while self.most is not None and len(device.recorded) > self.most:
                    device.recorded.popleft()
        return happened

    def replaced(self) -> dict[str, Any]:
        """Return the replacements, by name in `torch._C`."""
        return {
            "_cuda_getDeviceCount": lambda: len(self.devices),
            "_cuda_getAllocatorBackend": lambda: "native",
            "_cuda_memoryStats": self.stats,
            "_cuda_memorySnapshot": self.snapshot,
            "_cuda_isHistoryEnabled": lambda: self.most is not None,
            "_cuda_record_memory_history": self.switch,
            "_cuda_attach_out_of_memory_observer": self.observers.append,
        }

    def install(self, replace: Callable[[Any, str, Any], None] = setattr) -> None:
        """Replace the allocator."""
        replace(torch.cuda, "is_initialized", lambda: True)
        replace(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(total_memory=self.total))
        for name, value in self.replaced().items():
            replace(torch._C, name, value)

    def reset(self) -> None:
        """Reset the peaks, as only the program may."""
        for device in self.devices:
            device.peaks = dict(device.running)

    def stats(self, device: int) -> dict[str, Any]:
        """Return a device's counters as `_cuda_memoryStats` does."""
        with self.lock:
            return self.devices[device].stats()

    def switch(self, *arguments: Any) -> None:
        """Record the history or not, as `_cuda_record_memory_history` does."""
        self.switched.append(arguments)
        enabled, _, _, most = arguments[:4]
        self.most = None if enabled is None else 1 if enabled == "state" else most
        if enabled is None:
            for device in self.devices:
                device.recorded.clear()

    def snapshot(self, wanted: tuple[int, int, bool] | None = None) -> dict[str, Any]:
        """Return a snapshot as `_cuda_memorySnapshot` does: of a pool, and with the history or not."""
        history = wanted is None or wanted[2]
        with self.lock:
            self.snapshots += 1
            return {
                **self.contents,
                "segments": [segment for device in self.devices for segment in device.described()],
                "device_traces": [list(device.recorded) for device in self.devices] if history else [],
            }

    def run_out(self, device: int, size: int, free: int, total: int) -> None:
        """Run out of memory as PyTorch does: the event is recorded, the observers are called, then it raises."""
        if self.most is not None:
            event = {"action": "oom", "device_free": free, "size": size, "stream": 0, "frames": []}
            self.devices[device].recorded.append({**event, "time_us": time.time_ns() // 1000})
        for observer in self.observers:
            observer(device, size, total, free)
        raise torch.cuda.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {size >> 20} MiB. GPU {device} has ..."
        )


class Storage:
    """The methods of a storage that the registry calls."""

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size

    def data_ptr(self) -> int:
        return self.address

    def nbytes(self) -> int:
        return self.size


class Tensor:
    """The methods of a tensor that the registry calls."""

    def __init__(self, address: int, size: int, device: int = 0, kind: str = "cuda") -> None:
        self.storage = Storage(address, size)
        self.device = torch.device(kind, device)
        self.shape = (size // 4,)
        self.dtype = torch.float32

    def untyped_storage(self) -> Storage:
        return self.storage


def _free(address: int, size: int) -> dict[str, Any]:
    return {"address": address, "size": size, "requested_size": 0, "state": INACTIVE, "frames": []}


def _move(traces: list[list[dict[str, Any]]]) -> None:
    times = [event["time_us"] for trace in traces for event in trace if "time_us" in event]
    later = time.time_ns() // 1000 - min(times, default=0)
    for trace in traces:
        for event in trace:
            if "time_us" in event:
                event["time_us"] += later
