"""The course of memory in one step, and what it would have been if some blocks had been recomputed.

A `Course` sits between the registry and the memory that the registry reports to, so it records exactly
the bytes that the agent shows. A step is recorded once and then replayed for each question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..memory.registry import Holding, Sink
from .allocations import Allocations

ENDED = -1  # instead of a call: the forward of the model has ended


class Moment(NamedTuple):
    """A storage went from one category to another, "" for none. If `of` is a number, the backward of that call
    began, or the forward ended."""

    of: Any
    before: str = ""
    after: str = ""


@dataclass
class Use:
    """Which calls made, saved or received a storage, by number. 0 stands for the code outside all blocks."""

    made_in: int
    saved_in: set[int] = field(default_factory=set)
    given_to: set[int] = field(default_factory=set)


class Needs(NamedTuple):
    """What a step needed, in bytes."""

    peak: int
    activations: int  # at the peak


class Course:
    """Records while `recording`. It is the registry's sink, and belongs to the training thread."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.recording = False
        self.call = 0  # the number of the block's call whose forward is running
        self.record = Record({})
        self.requests: Callable[[], int] = int  # returns how many requests the allocator has had in this step

    @property
    def stacks(self) -> bool:
        """Whether the registry should capture the stacks of new storages."""
        return self.sink.stacks

    def wanted(self, device: Any) -> bool:
        """Report whether the registry should track memory of this device."""
        return self.sink.wanted(device)

    def begin(self, holdings: Iterable[Holding]) -> None:
        """Begin to record. `holdings` are the storages that are alive now."""
        categories: dict[str, int] = {}
        for holding in holdings:
            categories[holding.counted] = categories.get(holding.counted, 0) + holding.size
        self.record = Record(categories)
        self.recording, self.call = True, 0

    def end(self) -> Record:
        """Stop, and return the record."""
        self.recording = False
        record, self.record = self.record, Record({})
        return record

    def born(self, holding: Holding) -> None:
        """Pass on a new storage."""
        if self.recording:
            self.record.uses[holding] = Use(self.call)
            if self.call:
                self.record.allocations.seen[holding] = self.requests()
            self.record.moments.append(Moment(holding, after=holding.category))
        self.sink.born(holding)

    def changed(self, holding: Holding) -> None:
        """Pass on the new category of a storage."""
        if self.recording:
            self.record.moments.append(Moment(holding, holding.counted, holding.category))
        self.sink.changed(holding)

    def died(self, holding: Holding) -> None:
        """Pass on the end of a storage."""
        if self.recording:
            self.record.moments.append(Moment(holding, before=holding.counted))
        self.sink.died(holding)

    def saved(self, holding: Holding | None) -> None:
        """Note that the running forward has saved a storage for its backward."""
        if self.recording and holding is not None and holding in self.record.uses:
            self.record.uses[holding].saved_in.add(self.call)

    def given(self, holding: Holding | None) -> None:
        """Note that a storage is an input of the block whose forward begins."""
        if holding is not None and holding in self.record.uses:
            self.record.uses[holding].given_to.add(self.call)

    def ended(self) -> None:
        """Note that the forward of a model has ended."""
        if self.recording:
            self.record.moments.append(Moment(ENDED))
            self.record.allocations.ended = self.requests()

    def backward(self, call: int) -> None:
        """Note that the backward of a call begins."""
        if self.recording:
            self.record.moments.append(Moment(call))
            self.record.allocations.backward[call] = self.requests()


@dataclass
class Record:
    """One step: the memory in use when it began, and what happened afterwards."""

    categories: dict[str, int]
    moments: list[Moment] = field(default_factory=list)
    uses: dict[Holding, Use] = field(default_factory=dict)
    allocations: Allocations = field(
        default_factory=lambda: Allocations(0, [])
    )  # without changes if there is no allocator

    casts: set[tuple[str, str]] = field(default_factory=set)  # shapes and types of what autocast makes of parameters

    def _is_cast(self, holding: Holding) -> bool:
        """Report whether autocast keeps a storage until the forward ends: it converts each parameter once."""
        return (holding.shape, holding.dtype) in self.casts

    def freed(self, calls: Collection[int]) -> dict[Holding, int]:
        """Return the storages that are not kept if these calls are recomputed, each with the call that made it."""
        return {
            holding: use.made_in
            for holding, use in self.uses.items()
            if use.saved_in and use.made_in in calls and use.saved_in.issubset(calls) and use.given_to.isdisjoint(calls)
        }

    def cached(self, calls: Collection[int]) -> list[Holding]:
        """Return what these calls made that neither a backward pass nor a later block uses."""
        return [h for h, use in self.uses.items() if use.made_in in calls and not use.saved_in and not use.given_to]

    def play(self, calls: Collection[int], uncached: Collection[int] = ()) -> Needs:
        """Return what the step needs if `calls` are recomputed when their backward begins, and those in `uncached` do
        not fill a cache."""
        freed = self.freed(calls)
        casts = {holding: call for holding, call in freed.items() if self._is_cast(holding)}
        absent = {**dict.fromkeys(self.cached(uncached), 0), **freed}
        for holding in casts:
            del absent[holding]
        highest = self.allocations.peak(absent, casts) if self.allocations.changes else 0
        memory, there = _Memory(self.categories), {}
        for of, before, after in self.moments:
            if of in casts:
                there[of] = after
            if of == ENDED:
                for holding, category in there.items():
                    if category:
                        memory.move(holding.size, category, "")
                        absent[holding] = casts[holding]
            elif isinstance(of, int):
                for holding in [h for h, call in absent.items() if call == of]:
                    del absent[holding]
                    memory.move(holding.size, "", "activation")
            elif of not in absent:
                memory.move(of.size, before, after)
            elif not after:
                del absent[of]  # no backward used it
        return Needs(highest or memory.peak, memory.activations_at_peak)


class _Memory:
    """The memory in use at one moment of the step."""

    def __init__(self, categories: dict[str, int]) -> None:
        self._amounts = dict(categories)
        self._total = self.peak = sum(categories.values())
        self.activations_at_peak = categories.get("activation", 0)

    def move(self, size: int, before: str, after: str) -> None:
        """Move memory to another category, "" for none."""
        if before:
            self._amounts[before] = self._amounts.get(before, 0) - size
            self._total -= size
        if after:
            self._amounts[after] = self._amounts.get(after, 0) + size
            self._total += size
        if self._total > self.peak:
            self.peak, self.activations_at_peak = self._total, self._amounts.get("activation", 0)
