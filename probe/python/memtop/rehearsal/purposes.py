"""What the memory of a rehearsed program is for, as its own objects say: its modules, optimizers, caches and variables;
and what keeps it.

A look notes what lies at each address at that moment. The history of PyTorch's allocator has the addresses and
times of all requests, so each note finds the request that made its memory.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import time
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import CodeType, FrameType, MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import torch

from .. import agent
from ..hooks.saved_tensors import ENGINE
from ..memory.failed_request import asker, blocks_of, note_of_holding
from ..memory.registry import KEEPABLE, OTHER
from ..memory.source import KEPT_BY
from ..names.variables import Names
from ..safety.threads import called_by_pytorch, touches
from ..watch.watch import Watch
from .keepers import Keepers, found_by_scan, used_by

MOST = 64  # looks
SPARING = 32  # looks after which the next one waits until the peak is a part larger
CYCLE = "a reference cycle"
MOST_WORKSPACES = 512  # that the imitation notes

Notes = dict[int, dict[str, str]]  # by address


class Look(NamedTuple):
    """What was found at a moment: microseconds since 1970."""

    time: int
    notes: Notes
    contained: Mapping[int, str] = MappingProxyType({})  # what containers keep, in words, by address
    graphed: Mapping[int, str] | None = None  # what graphs do; None before a backward pass, which uses them


class Purposes:
    """Keeps the notes of all looks. The program's own threads call the methods."""

    def __init__(self) -> None:
        self._looks: list[Look] = []
        self._peak = 0  # bytes, at the last look
        self._before_backward = 0  # bytes, the most when a backward pass began
        self._main: CodeType | None = None
        self._names: Names | None = None  # of the last look

    def begin(self) -> None:
        """Remember the program's code outside of functions, which runs now."""
        for frame in list(sys._current_frames().values()):
            outer: FrameType | None = frame
            while outer is not None:
                if outer.f_globals is _globals() and not outer.f_code.co_flags & inspect.CO_OPTIMIZED:
                    self._main = outer.f_code
                outer = outer.f_back
        del frame  # it may be this one, and a cycle would keep what the program's frames have
        if (original := getattr(torch.autograd, ENGINE, None)) is not None:
            setattr(torch.autograd, ENGINE, partial(self._differentiate, original))

    @called_by_pytorch
    def _differentiate(self, original: Any, outputs: Any, *arguments: Any, **named: Any) -> Any:
        now = torch.cuda.memory_allocated()
        if now > self._before_backward and torch._C._current_graph_task_id() == -1:
            self._before_backward = now
            self.look(peak=now, outputs=outputs)
        return original(outputs, *arguments, **named)

    @touches
    def look(self, stepped: Any = None, peak: int = 0, last: bool = False, outputs: Any = ()) -> None:
        """Note what the live memory is for, after a peak of so many bytes. This thread may have just stepped an
        optimizer, whose gradients it may read, or begin a backward pass from outputs. A failure of the agent's is said,
        and the program goes on."""
        watch = agent.watching()
        few = len(self._looks) < SPARING or peak - self._peak > self._peak // SPARING
        if watch is None or watch.guard.error or (not last and (not few or len(self._looks) == MOST)):
            return
        self._peak = peak
        try:
            self._find(watch, stepped, last, outputs)
        except Exception as error:
            watch.guard.fail(error)
            print(f"memtop: what memory is for is not known, the agent failed: {watch.guard.error}", file=sys.stderr)

    @touches
    def _find(self, watch: Watch, stepped: Any, last: bool, outputs: Any) -> None:
        if stepped is not None:
            watch.steppers.note(stepped)
        known = watch.registry, watch.stacks, watch.models, self._names
        reached = None if outputs else Keepers(*known)
        self._names = reached or Names(*known)
        with watch.registry.lock:
            frame = None if outputs else asker() or self._after_all()
            found = watch.known(scans=last or not self._looks, names=self._names, frame=frame)
            notes = {holding.address: note_of_holding(holding, "noted_category") for holding in found}
            for address, category in used_by(outputs).items():
                if "noted_category" not in notes.get(address, {"noted_category": OTHER}):
                    notes[address]["noted_category"] = category
            if reached is None:
                self._looks.append(Look(time.time_ns() // 1000, notes))
                return
            contained, graphed = reached.contained(found), reached.graphed()
        for address, note in notes.items():
            if note.get("noted_category", OTHER) not in KEEPABLE:
                contained.pop(address, None)
                graphed.pop(address, None)
        contained.update(found_by_scan(watch.models, watch.look.gathering) if last else {})
        self._looks.append(Look(time.time_ns() // 1000, notes, contained, graphed))

    def forget(self) -> None:
        """Keep only the last look: the history begins anew."""
        del self._looks[:-1]

    def _after_all(self) -> Any:
        """Return what stands for the frame of the program's code outside of functions, which has ended."""
        if self._main is None:
            return None
        return SimpleNamespace(f_code=self._main, f_lineno=0, f_globals=_globals(), f_locals=_globals(), f_back=None)

    def write(self, contents: Mapping[str, Any], collected: Sequence[tuple[int, int]] = ()) -> None:
        """Add the notes to a snapshot: to the blocks, and to the events that allocated them. In `collected` are the
        times at which collections of garbage began and ended."""
        made: dict[int, dict[str, Any]] = {}  # by address, the events that made what is alive
        for trace in contents["device_traces"]:
            made.update(self._write_events(trace, collected))
        before = {**self._looks[0].notes, **self._looks[-1].notes} if self._looks else {}
        for block in blocks_of(contents):
            event = made.get(block["address"])
            note = before.get(block["address"], {}) if event is None else event
            block.update({key: note[key] for key in KEYS if key in note})

    def _write_events(
        self, trace: Iterable[dict[str, Any]], collected: Sequence[tuple[int, int]]
    ) -> dict[int, dict[str, Any]]:
        alive: dict[int, dict[str, Any]] = {}
        left = list(reversed(self._looks))
        before = 0  # the time of the look before
        # Tensors may lie there too, which are not freed at once or which a look finds.
        workspaces = _workspaces()
        newest: dict[str, Any] = {}
        for event in trace:
            while left and left[-1].time < event.get("time_us", 0):
                before = _note(alive, left.pop(), before)
            if event["action"] == "alloc":
                alive[event["addr"]] = newest = event
            elif event["action"] == "free_completed":
                made = alive.pop(event["addr"], None)
                if made is newest and (newest["addr"], newest["size"]) in workspaces:
                    newest.update(WORKSPACE)
                if made and KEPT_BY not in made.get("role", "") and _within(event.get("time_us", 0), collected):
                    _keep(made, CYCLE)
        while left:
            before = _note(alive, left.pop(), before)
        for event in alive.values():
            if "noted_category" not in event and (event["addr"], event["size"]) in workspaces:
                event.update(WORKSPACE)
        return alive


WORKSPACE = {"noted_category": "workspace", "role": "cuBLAS"}
KEYS = ("noted_category", "layer", "role", "shape", "dtype")


def _workspaces() -> set[tuple[int, int]]:
    """Return the addresses and the bytes of what PyTorch gave cuBLAS as workspace, as the imitation noted them."""
    table = (ctypes.c_uint64 * (2 * MOST_WORKSPACES))()
    count = ctypes.CDLL(None).memtop_imitation_workspaces(table)
    return set(zip(table[0 : 2 * count : 2], table[1 : 2 * count : 2]))


def _globals() -> dict[str, Any]:
    return sys.modules["__main__"].__dict__


def _note(alive: Mapping[int, dict[str, Any]], look: Look, before: int) -> int:
    """Note what is alive, where no earlier look did. What a graph has that is no older than the look before may be of
    the step or call that goes on. Return the time of this look."""
    for address, note in look.notes.items():
        event = alive.get(address)
        if event is not None and "noted_category" not in event:
            event.update(note)
    if look.graphed is None:
        return before
    for address, words in (*look.graphed.items(), *look.contained.items()):
        event = alive.get(address)
        if event is not None and (address in look.contained or event.get("time_us", 0) < before):
            _keep(event, words)
    return look.time


def _keep(event: dict[str, Any], keeper: str) -> None:
    role = event.get("role", "").partition(KEPT_BY)[0].removesuffix(", ")
    event["role"] = f"{role}, {KEPT_BY}{keeper}" if role else KEPT_BY + keeper


def _within(at: int, collected: Sequence[tuple[int, int]]) -> bool:
    place = bisect_right(collected, (at + 1, 0)) - 1
    return place >= 0 and at <= collected[place][1]
