"""What the server must be told of the program: the rest of the agent tells it.

The server knows the process it runs in, and the journal. All else it asks a
`Program`, by methods that are called from its own threads, never from the
program's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

# What a message of the protocol says, as docs/protocol.md names its fields.
Json = dict[str, Any]


class Refused(Exception):
    """The program does not do what a viewer asked for; the text is one line that says why."""


class Memory(NamedTuple):
    """The memory of a device, in bytes. `requested` and `out_of_memory` are None where they are not known."""

    device: int
    allocated: int
    reserved: int
    requested: int | None = None
    out_of_memory: int | None = None  # how many requests there was no memory for
    known_us: int | None = None  # when it was so, in microseconds since 1970; 0 if it is not known, None for now


@dataclass(frozen=True)
class Info:
    """What a program says of itself. An empty text leaves what the server finds out."""

    devices: Sequence[Memory]  # ascending by number, at least one; the numbers stay the same
    writer: str = ""  # what records the events
    command: str = ""
    settings: Json = field(default_factory=dict)  # of the allocator
    rehearsed_on: str = ""  # the GPU that is imitated for the program
    notices: list[str] = field(default_factory=list)  # what a viewer should know before it trusts the rest
    capabilities: Sequence[str] = ()  # beside the server's own
    read_only: bool = True  # nothing may be changed
    probe_ns: int = 0  # for how long watching has held up the program, since it began
    gauges: Sequence[Json] = ()  # as in the message gauges


class Program(Protocol):
    """Of these methods the first four must return at once; the others may take their time."""

    def info(self) -> Info:
        """Say how the program is now. It is asked for each new stream and each /v1/info."""

    def looked(self) -> bool:
        """Report whether the memory was looked at since the first viewer came: until then the journal is empty."""

    def options(self) -> Sequence[Json]:
        """Return what may be changed, as in the message options, with the values of the next step."""

    def on_viewers(self, count: int) -> None:
        """Learn how many viewers watch: watching begins with the first and ends with the last.

        A change that waits for a step to show it counts as a viewer.
        """

    def change(self, key: str, value: str, at: int = 0) -> None:
        """Use a value from the next step on, or from step `at`, or raise `Refused`: also where that has begun.

        One change is made at a time.
        """

    def predict(self, key: str, value: str) -> Json | None:
        """Return what a change would do, as `predicted` in the message change; None where it is not known."""

    def snapshot(self) -> bytes:
        """Return the memory now, as PyTorch's `_dump_snapshot` writes it."""
