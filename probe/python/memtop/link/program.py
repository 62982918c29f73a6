"""What the parts of the agent say to each other about the program."""

from __future__ import annotations

from typing import Any, NamedTuple

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
