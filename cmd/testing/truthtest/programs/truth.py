"""What a program knows of its own memory: `python PROGRAM.py FOLDER [CHANGE]`.

A program here trains or serves like a user's, records its history like a user, and says beside that what each tensor
is. Nothing is wrapped and no hook is set, so the snapshot is that of the plain program. A moment is the number of
allocations and of frees that PyTorch has counted until then; reading the counters touches no device. At the end
the moments are found again in the recorded events: a block is what the program called it at any moment of its life,
else what its phase makes. FOLDER gets snapshot.pickle and truth.json.

With CHANGE, the name of a kind of finding, the program runs with that finding's remedy: the difference of
the peaks is the true saving.

late/ has the same for a history that begins when half of the steps are done, if there are two or more.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Callable

import torch

# What a phase makes, if nothing else is said of it. Of several names each is right.
BORN = {
    "build": ("parameter",),
    "data": ("input",),
    "forward": ("activation",),
    "inference": ("inference",),
    "backward": ("backward-temporary",),
    "step": ("other", "optimizer", "backward-temporary", "workspace"),  # temporaries; the state is named
}
WORKSPACES = ("Workspace", "getCurrentCUDABlasHandle")  # of functions that make them
WORKSPACE = 32 << 20  # cuBLAS's on this GPU, in bytes, where no function is recorded


class Truth:
    """The truth of one run. `changes` are the changes that the program can make; it reads `self.change`.
    `expect` are kinds of findings that must be there, `wrong` that must not, each with its reason; `holders` are the
    functions whose lines hold most at the peak, in order."""

    def __init__(
        self,
        *changes: str,
        expect: tuple[str, ...] = (),
        wrong: dict[str, str] | None = None,
        holders: tuple[str, ...] = (),
        devices: int = 1,
    ) -> None:
        changes = (*changes, "expandable_segments", "save_on_cpu")  # the first of the environment, see run.go
        self.folder, change = Path(sys.argv[1]), (sys.argv[2:] or [""])[0]
        self.change, _, percent = change.partition("=")
        self.percent = float(percent or 0)  # of the change `batch=17`
        if self.change and self.change not in changes:
            raise SystemExit(f"the program has no change {self.change!r}, but {changes}")
        if self.change == "save_on_cpu":
            torch.autograd.graph.save_on_cpu().__enter__()
        self._said: dict[str, Any] = {"changes": changes, "expect": expect, "wrong": wrong or {}, "holders": holders}
        self._devices = range(devices)
        torch.cuda.init()
        self._phase = "build"
        self._phases: list[list[tuple[tuple[int, int], str]]] = [[] for _ in self._devices]
        self._named: list[list[tuple[tuple[int, int], str, set[int]]]] = [[] for _ in self._devices]
        self._kept: dict[str, Callable[[], Iterable[Any]]] = {}
        self._steps: list[list[tuple[int, int]]] = [[] for _ in self._devices]
        self._begin: list[tuple[int, int]] = []

    def record(self, **options: Any) -> None:
        """Begin the history, as a user does. What is there already must be kept, see `keep`."""
        self._begin = [self._moment(device) for device in self._devices]
        self._phases = [[(self._begin[device], self._phase)] for device in self._devices]
        self._named = [[] for _ in self._devices]
        self._stacks = options.get("context", "all") is not None
        torch.cuda.memory._record_memory_history(max_entries=1_000_000, **options)
        self.phase(self._phase)

    def keep(self, category: str, tensors: Callable[[], Iterable[Any]]) -> None:
        """At the beginning of every phase, what the function returns is of that category."""
        self._kept[category] = tensors

    def are(self, category: str, *tensors: Any) -> None:
        """The blocks that hold these tensors are of that category, for all of their lives; of several, with a slash
        between them, each is right."""
        found = [t for t in tensors if isinstance(t, torch.Tensor) and t.is_cuda]
        for device in {t.get_device() for t in found}:
            places = {t.untyped_storage().data_ptr() for t in found if t.get_device() == device}
            self._named[device].append((self._moment(device), category, places))

    def phase(self, name: str) -> None:
        """What is made from here on is what the phase makes, see `BORN`."""
        self._phase = name
        for device in self._devices:
            self._phases[device].append((self._moment(device), name))
        for category, tensors in self._kept.items():
            self.are(category, *tensors())

    @contextlib.contextmanager
    def during(self, name: str) -> Iterator[None]:
        """The same for a while: a forward that backward runs again."""
        before = self._phase
        self.phase(name)
        try:
            yield
        finally:
            self.phase(before)

    @contextlib.contextmanager
    def until_memory_runs_out(self) -> Iterator[None]:
        """The program ends here, however it ends."""
        self._said["fits"] = False
        with contextlib.suppress(torch.cuda.OutOfMemoryError):
            yield
            self._said["fits"] = True

    def step(self) -> None:
        """A step ends here."""
        for device in self._devices:
            self._steps[device].append(self._moment(device))

    def end(self) -> None:
        """Dump the snapshot, as a user does, and write the truth of it."""
        self.phase("end")
        torch.cuda.memory._dump_snapshot(str(self.folder / "snapshot.pickle"))
        snapshot = pickle.loads((self.folder / "snapshot.pickle").read_bytes())
        self._said["devices"] = [self._told(snapshot, device) for device in self._devices]
        (self.folder / "truth.json").write_text(json.dumps(self._said))
        devices = [late(snapshot, told) for told in self._said["devices"]]
        if not self.change and all(devices):
            folder = self.folder / "late"
            folder.mkdir(exist_ok=True)
            (folder / "snapshot.pickle").write_bytes(pickle.dumps(snapshot))
            (folder / "truth.json").write_text(json.dumps({**self._said, "devices": devices}))

    def _moment(self, device: int) -> tuple[int, int]:
        stats = torch._C._cuda_memoryStats(device)["allocation"]["all"]
        return stats["allocated"], stats["freed"]

    def _told(self, snapshot: dict[str, Any], device: int) -> dict[str, Any]:
        history = History(snapshot, device, self._begin[device])
        for moment, name in self._phases[device]:
            history.born(history.event(moment), name)
        for moment, category, places in self._named[device]:
            history.name(history.event(moment), category, places)
        ends = [history.event(moment) for moment in self._steps[device]]
        unknown = () if self._stacks else ("other",)  # not to be known is said
        steps = list(zip([0, *ends], ends))
        moments = [history.peak(0, len(history.levels) - 1), *(history.peak(*step) for step in steps)]
        moments += [history.peak(end, end) for end in ends]  # what stays from step to step
        return {
            "device": device,
            "peak": max(history.levels),
            "reserved": torch.cuda.max_memory_reserved(device),
            "capacity": torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device),
            "moments": [
                {
                    "event": history.number(moment),
                    "blocks": [[b.address, b.size, [*b.categories(), *unknown]] for b in history.at(moment)],
                }
                for moment in moments
            ],
            "steps": [max(history.levels[begin : end + 1]) for begin, end in steps],
        }


def late(snapshot: dict[str, Any], told: dict[str, Any]) -> dict[str, Any] | None:
    """Take a device's events and stacks from before its later half of steps out of a snapshot, as if its history had
    begun there, and return the truth of the peak that is left; None if that peak is not one of a step's."""
    count = len(told["steps"])
    if count < 2:
        return None
    ends = told["moments"][1 + count :]
    begin = ends[count // 2 - 1]["event"] + 1
    trace = snapshot["device_traces"][told["device"]]
    before, after = trace[:begin], trace[begin:]
    again = {e["addr"] for e in after if e["action"] == "alloc"}
    old = {e["addr"] for e in before if e["action"] == "alloc"} - again
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            if segment["device"] == told["device"] and address in old:
                block["frames"] = []
            address += block["size"]
    snapshot["device_traces"][told["device"]] = after
    moments = [{**ends[count // 2 - 1], "event": -1}]
    moments += [{**m, "event": m["event"] - begin} for m in told["moments"][1 + count // 2 : 1 + count]]
    most = max(moments, key=taken)
    level = peak = taken(moments[0])
    for e in after:
        level += {"alloc": e["size"], "free_requested": -e["size"]}.get(e["action"], 0)
        peak = max(peak, level)
    return {**told, "peak": peak, "moments": [most], "steps": []} if taken(most) == peak else None


def taken(moment: dict[str, Any]) -> int:
    return sum(size for _, size, _ in moment["blocks"])


class Block:
    """A block's life: events of its beginning and its end."""

    def __init__(self, address: int, size: int, frames: list[Any], begin: int, end: int) -> None:
        self.address, self.size, self.begin, self.end = address, size, begin, end
        self.made = ""
        self.named = ""
        self.workspace = size == WORKSPACE and not any("::" in f["name"] for f in frames)
        self.workspace |= any(word in f["name"] for f in frames for word in WORKSPACES)

    def categories(self) -> tuple[str, ...]:
        """Return the names that are right for it."""
        if self.workspace and not self.named:
            return ("workspace",)
        if not self.named and not self.made:
            raise SystemExit(f"nobody says what {self.size} bytes are that were there before the history")
        return tuple(self.named.split("/")) if self.named else BORN[self.made]


class History:
    """A device's events, as a list of blocks. The level after event i is levels[i + 1]."""

    def __init__(self, snapshot: dict[str, Any], device: int, begin: tuple[int, int]) -> None:
        events = snapshot["device_traces"][device]
        self._numbers = [i for i, e in enumerate(events) if e["action"] in ("alloc", "free_requested")]
        self._events = [events[i] for i in self._numbers]
        self._counts = {begin: 0}
        allocated, freed = begin
        for i, e in enumerate(self._events):
            allocated, freed = allocated + (e["action"] == "alloc"), freed + (e["action"] != "alloc")
            self._counts[allocated, freed] = i + 1
        self.blocks = self._lives(snapshot, device)
        self.levels = self._sums()

    def event(self, moment: tuple[int, int]) -> int:
        """Return the number of events before a moment."""
        return self._counts[moment]

    def born(self, event: int, phase: str) -> None:
        """Blocks from an event on are made by a phase; the later call wins."""
        for b in self.blocks:
            if b.begin >= max(event, 0):
                b.made = phase

    def name(self, event: int, category: str, places: set[int]) -> None:
        """Name the blocks that are alive at an event and lie at these places. The first name stays."""
        for b in self.blocks:
            if b.address in places and not b.named and b.begin < event <= b.end:
                b.named = category

    def peak(self, begin: int, end: int) -> int:
        """Return the event with the first peak from one event to another; if that is a free, the last allocation
        before it."""
        levels = self.levels[begin : end + 1]
        event = begin + levels.index(max(levels))
        while event > 0 and self._events[event - 1]["action"] != "alloc":
            event -= 1
        return event

    def number(self, event: int) -> int:
        """Return the place of an event among all that PyTorch records, -1 for before the first."""
        return self._numbers[event - 1] if event else -1

    def at(self, event: int) -> list[Block]:
        """Return the blocks that are alive after an event."""
        return [b for b in self.blocks if b.begin < event <= b.end]

    def _lives(self, snapshot: dict[str, Any], device: int) -> list[Block]:
        alive = {}
        for segment in snapshot["segments"]:
            address = segment["address"]
            for b in segment["blocks"]:
                if segment["device"] == device and b["state"] == "active_allocated":
                    alive[address] = Block(address, b["requested_size"], b.get("frames", []), -1, len(self._events))
                address += b["size"]
        blocks = []
        for i in reversed(range(len(self._events))):
            e = self._events[i]
            if e["action"] == "alloc":
                block = alive.pop(e["addr"])
                block.begin = i
                blocks.append(block)
            else:
                alive[e["addr"]] = Block(e["addr"], e["size"], [], -1, i)
            if e["action"] == "alloc":
                block.workspace = Block(0, e["size"], e.get("frames", []), 0, 0).workspace
        return [*alive.values(), *blocks]

    def _sums(self) -> list[int]:
        level = sum(b.size for b in self.blocks if b.begin < 0)
        levels = [level]
        for e in self._events:
            level += e["size"] if e["action"] == "alloc" else -e["size"]
            levels.append(level)
        return levels
