"""What the server asks about the program; the rest of the agent answers.

The server itself knows only its process and the journal. It asks a `Program` for everything
else, from its own threads and never from the program's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

# The data of a message of the protocol, with the field names of docs/protocol.md.
Json = dict[str, Any]


class Refused(Exception):
    """The program refuses a viewer's request. The text is one line that says why."""


class Memory(NamedTuple):
    """The memory of a device, in bytes. `requested` and `out_of_memory` are None if they are not known."""

    device: int
    allocated: int
    reserved: int
    requested: int | None = None
    out_of_memory: int | None = None  # how many requests have failed for lack of memory
    # when these numbers were true, in microseconds since 1970; 0 if not known, None for now
    known_us: int | None = None


@dataclass(frozen=True)
class Info:
    """The program's description of itself. For an empty text, the server uses what it finds out."""

    devices: Sequence[Memory]  # at least one, ascending by number; the numbers never change
    writer: str = ""  # the name of what records the events
    command: str = ""
    settings: Json = field(default_factory=dict)  # of the allocator
    rehearsed_on: str = ""  # the name of the imitated GPU, "" without one
    notices: list[str] = field(default_factory=list)  # warnings for a viewer before it trusts the numbers
    capabilities: Sequence[str] = ()  # in addition to the server's own
    read_only: bool = True  # no setting can be changed
    probe_ns: int = 0  # for how long the agent has held up the program so far
    gauges: Sequence[Json] = ()  # as in the message gauges
    black_box: str = ""  # the path of the black box, "" for none
    boxless: str = ""  # why there is none although one is wanted


class Program(Protocol):
    """The first five methods must return at once; the others may take their time."""

    def info(self) -> Info:
        """Describe the current state. It is called for each new stream and each /v1/info."""

    def looked(self) -> bool:
        """Report whether the memory has been measured since the first viewer came. Until then the journal is empty."""

    def looking(self) -> bool:
        """Report whether viewers should wait: no whole step or call has been measured yet since the first viewer came,
        so it is not known yet what the memory is for, which layers there are, and what settings would do."""

    def options(self) -> Sequence[Json]:
        """Return the settings that a viewer may change, as in the message options, with their values of the next
        step."""

    def on_viewers(self, count: int) -> None:
        """Learn the number of viewers. Watching begins with the first viewer and ends with the last.

        A change that waits for a step counts as a viewer.
        """

    def change(self, key: str, value: str, at: int = 0) -> None:
        """Use a value from the next step on, or from step `at`. Raise `Refused` if it cannot, or if that step has
        begun.

        One change is made at a time.
        """

    def predict(self, key: str, value: str) -> Json | None:
        """Predict the effect of a change, as `predicted` in the message change, None if it is not known."""

    def snapshot(self) -> bytes:
        """Return the current memory, in the format of PyTorch's `_dump_snapshot`."""
