"""The course of memory in one step, from which memtop's host predicts what recomputing some blocks would save.

A `Course` sits between the registry and the memory that the registry reports to, so it records exactly
the bytes that the agent shows. Go's package survey plays a record once for each question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..memory.registry import Holding, Sink

BEFORE, OUTSIDE = -1, 0  # instead of a call: before the step began, and outside all blocks
ENDED = -1  # instead of a storage: the forward of a model has ended; with n less, the backward of call n begins


@dataclass
class Use:
    """Which calls made, saved or received a storage, by number."""

    number: int  # of the storage
    made_in: int
    saved_in: set[int] = field(default_factory=set)
    given_to: set[int] = field(default_factory=set)


@dataclass
class Record:
    """What happened in one step."""

    amp: str  # the value of that setting in the step
    uses: dict[Holding, Use] = field(default_factory=dict)
    # The number of a storage, how many requests the allocator had had in this step, where that matters, and the
    # storage's category before and afterwards, "" for none.
    moments: list[tuple[int, int, str, str]] = field(default_factory=list)
    casts: set[tuple[str, str]] = field(default_factory=set)  # shapes and types of what autocast makes of parameters
    _freed: dict[tuple[int, ...], int] = field(default_factory=dict)  # the answers, once the step has ended

    def freed(self, calls: Sequence[int]) -> int:
        """Return the bytes that are not kept if these calls are recomputed."""
        key, these = tuple(calls), set(calls)
        if key not in self._freed:
            self._freed[key] = sum(
                holding.size
                for holding, use in self.uses.items()
                if use.saved_in and use.made_in in these and use.saved_in <= these and use.given_to.isdisjoint(these)
            )
        return self._freed[key]

    def storages(self) -> list[tuple[Any, ...]]:
        """Return the storages by number. Autocast keeps a cast until the forward ends: it converts each parameter
        once."""
        return [
            (h.address, h.size, use.made_in, (h.shape, h.dtype) in self.casts, tuple(use.saved_in), tuple(use.given_to))
            for h, use in self.uses.items()
        ]


class Course:
    """Records while `recording`. It is the registry's sink, and belongs to the training thread."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.recording = False
        self.call = OUTSIDE  # the number of the block's call whose forward is running
        self.record = Record("")
        self.requests: Callable[[], int] = int  # returns how many requests the allocator has had in this step

    @property
    def stacks(self) -> bool:
        """Whether the registry should capture the stacks of new storages."""
        return self.sink.stacks

    def wanted(self, device: Any) -> bool:
        """Report whether the registry should track memory of this device."""
        return self.sink.wanted(device)

    def begin(self, holdings: Iterable[Holding], amp: str) -> None:
        """Begin to record. `holdings` are the storages that are alive now."""
        self.record, self.recording, self.call = Record(amp), True, BEFORE
        for holding in holdings:
            self._note(holding, "", holding.counted)
        self.call = OUTSIDE

    def end(self) -> Record:
        """Stop, and return the record."""
        self.recording = False
        record, self.record = self.record, Record("")
        return record

    def born(self, holding: Holding) -> None:
        """Pass on a new storage."""
        if self.recording:
            self._note(holding, "", holding.category, self.requests() if self.call else 0)
        self.sink.born(holding)

    def changed(self, holding: Holding) -> None:
        """Pass on the new category of a storage."""
        if self.recording:
            self._note(holding, holding.counted, holding.category)
        self.sink.changed(holding)

    def died(self, holding: Holding) -> None:
        """Pass on the end of a storage."""
        if self.recording:
            self._note(holding, holding.counted, "")
        self.sink.died(holding)

    def _note(self, holding: Holding, before: str, after: str, requests: int = 0) -> None:
        uses = self.record.uses
        use = uses.setdefault(holding, Use(len(uses), self.call))
        self.record.moments.append((use.number, requests, before, after))

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
        self.backward(0)

    def backward(self, call: int) -> None:
        """Note that the backward of a call begins."""
        if self.recording:
            self.record.moments.append((ENDED - call, self.requests(), "", ""))
