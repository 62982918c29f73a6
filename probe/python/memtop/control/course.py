"""The course of memory in one step, and what it would have been with some blocks computed again.

It lies between the registry and where that tells of memory, so it records the very
bytes that the agent shows. A step is recorded once and then played as often as
there is a question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..registry import Holding, Sink


class Moment(NamedTuple):
    """Memory went from one category to another, "" being none; or, of a number, the backward of that call began."""

    of: Any
    before: str = ""
    after: str = ""


@dataclass
class Use:
    """Who had to do with a holding, by numbers of calls; 0 is what lies outside of all blocks."""

    made_in: int
    saved_in: set[int] = field(default_factory=set)
    given_to: set[int] = field(default_factory=set)


class Needs(NamedTuple):
    """What a step needed, in bytes."""

    peak: int
    activations: int  # at the peak


class Course:
    """Records while `recording`. It belongs to the thread that trains, and is the registry's sink."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.recording = False
        self.call = 0  # the number of the block's call whose forward runs
        self.record = Record({})

    @property
    def stacks(self) -> bool:
        """Whether the stacks of new storages are to be captured."""
        return self.sink.stacks

    def wanted(self, device: Any) -> bool:
        """Report whether memory of that device is the registry's."""
        return self.sink.wanted(device)

    def begin(self, holdings: Iterable[Holding]) -> None:
        """Begin to record, with these alive."""
        categories: dict[str, int] = {}
        for holding in holdings:
            categories[holding.counted] = categories.get(holding.counted, 0) + holding.size
        self.record = Record(categories)
        self.recording, self.call = True, 0

    def end(self) -> Record:
        """End, and return what was recorded."""
        self.recording = False
        record, self.record = self.record, Record({})
        return record

    def born(self, holding: Holding) -> None:
        """Tell of new memory."""
        if self.recording:
            self.record.uses[holding] = Use(self.call)
            self.record.moments.append(Moment(holding, after=holding.category))
        self.sink.born(holding)

    def changed(self, holding: Holding) -> None:
        """Tell that memory is for something else than was known."""
        if self.recording:
            self.record.moments.append(Moment(holding, holding.counted, holding.category))
        self.sink.changed(holding)

    def died(self, holding: Holding) -> None:
        """Tell of the end of memory."""
        if self.recording:
            self.record.moments.append(Moment(holding, before=holding.counted))
        self.sink.died(holding)

    def saved(self, holding: Holding | None) -> None:
        """Note that the forward that runs has saved memory for its backward."""
        if self.recording and holding is not None and holding in self.record.uses:
            self.record.uses[holding].saved_in.add(self.call)

    def given(self, holding: Holding | None) -> None:
        """Note that memory is given to the block whose forward begins."""
        if holding is not None and holding in self.record.uses:
            self.record.uses[holding].given_to.add(self.call)

    def backward(self, call: int) -> None:
        """Note that the backward of a call begins."""
        if self.recording:
            self.record.moments.append(Moment(call))


@dataclass
class Record:
    """One step: what was in use when it began, and what happened then."""

    categories: dict[str, int]
    moments: list[Moment] = field(default_factory=list)
    uses: dict[Holding, Use] = field(default_factory=dict)

    def freed(self, calls: Collection[int]) -> dict[Holding, int]:
        """Return what need not be kept if these calls are computed again, and in which call each was made."""
        return {
            holding: use.made_in
            for holding, use in self.uses.items()
            if use.saved_in and use.made_in in calls and use.saved_in.issubset(calls) and use.given_to.isdisjoint(calls)
        }

    def cached(self, calls: Collection[int]) -> list[Holding]:
        """Return what these calls made for others than the backward and the blocks after them."""
        return [h for h, use in self.uses.items() if use.made_in in calls and not use.saved_in and not use.given_to]

    def play(self, calls: Collection[int], uncached: Collection[int] = ()) -> Needs:
        """Return what the step needs if these calls are computed again when their backward begins; some of them cache
        nothing."""
        absent = {**dict.fromkeys(self.cached(uncached), 0), **self.freed(calls)}
        memory = _Memory(self.categories)
        for of, before, after in self.moments:
            if isinstance(of, int):
                for holding in [h for h, call in absent.items() if call == of]:
                    del absent[holding]
                    memory.move(holding.size, "", "activation")
            elif of not in absent:
                memory.move(of.size, before, after)
            elif not after:
                del absent[of]  # no backward came for it
        return Needs(memory.peak, memory.activations_at_peak)


class _Memory:
    """What is in use at a moment."""

    def __init__(self, categories: dict[str, int]) -> None:
        self._amounts = dict(categories)
        self._total = self.peak = sum(categories.values())
        self.activations_at_peak = categories.get("activation", 0)

    def move(self, size: int, before: str, after: str) -> None:
        """Have memory be of another category, "" being none."""
        if before:
            self._amounts[before] = self._amounts.get(before, 0) - size
            self._total -= size
        if after:
            self._amounts[after] = self._amounts.get(after, 0) + size
            self._total += size
        if self._total > self.peak:
            self.peak, self.activations_at_peak = self._total, self._amounts.get("activation", 0)
