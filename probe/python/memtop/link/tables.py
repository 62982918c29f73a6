"""Strings, frames, stacks and notes with their numbers, as in docs/protocol.md.

The tables only grow, and a number never changes, so a session sends the entries that are new since it
last sent. They are not safe for concurrent use: `Link` guards them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)

ABSENT = 0
EMPTY = 1

# The types of frames that carry the tables.
STRING_TABLE, FRAME_TABLE, STACK_TABLE, NOTE_TABLE = 1, 5, 6, 7


class Table(Generic[T]):
    """Entries with their numbers. The first `fixed` numbers are never sent."""

    def __init__(self, *fixed: T) -> None:
        self.fixed = len(fixed)
        self.entries: list[T] = list(fixed)
        self._numbers: dict[T, int] = {entry: number for number, entry in enumerate(fixed)}

    def number(self, entry: T) -> int:
        """Return the number of an entry. A new entry gets the next number."""
        number = self._numbers.get(entry)
        if number is None:
            number = self._numbers[entry] = len(self.entries)
            self.entries.append(entry)
        return number

    def __len__(self) -> int:
        return len(self.entries)


class Frame(NamedTuple):
    """A line of a program. Its file and function are numbers of strings."""

    file: int
    function: int
    line: int


class Note(NamedTuple):
    """The description of memory. All fields but pool and forward are numbers of strings."""

    action: int = 0
    compile_context: int = 0
    user_metadata: int = 0
    category: int = 0
    layer: int = 0
    role: int = 0
    shape: int = 0
    dtype: int = 0
    pool: int = 0
    forward: int = 0


class Tables:
    """All tables of a program. A stack is the numbers of its frames, innermost first."""

    def __init__(self) -> None:
        self.strings: Table[str] = Table("\0absent", "")
        self.frames: Table[Frame] = Table(Frame(0, 0, 0))
        self.stacks: Table[tuple[int, ...]] = Table((-1,), ())
        self.notes: Table[Note] = Table(Note())

    def note(
        self, category: str = "", layer: str = "", role: str = "", shape: str = "", dtype: str = "", metadata: str = ""
    ) -> int:
        """Return the number of a note with these texts."""
        text = self._text
        return self.notes.number(
            Note(
                user_metadata=text(metadata),
                category=text(category),
                layer=text(layer),
                role=text(role),
                shape=text(shape),
                dtype=text(dtype),
            )
        )

    def frame(self, file: str, function: str, line: int) -> int:
        """Return the number of a frame."""
        return self.frames.number(Frame(self.strings.number(file), self.strings.number(function), line))

    def _text(self, text: str) -> int:
        return self.strings.number(text) if text else ABSENT


class New:
    """The entries of the tables that a stream has not sent yet. It needs no lock: see `of`."""

    def __init__(self) -> None:
        self._sent: dict[int, int] = {}  # number of entries sent, by type of table

    def of(self, tables: Tables) -> list[tuple[int, int, list[Any]]]:
        """Return the new entries in the order in which to send them: types, first numbers and entries.

        Entries refer to tables that come earlier in this order. Tables may grow meanwhile, so the later ones are read
        first.
        """
        new: list[tuple[int, int, list[Any]]] = []
        for type, table in (
            (NOTE_TABLE, tables.notes),
            (STACK_TABLE, tables.stacks),
            (FRAME_TABLE, tables.frames),
            (STRING_TABLE, tables.strings),
        ):
            first = self._sent.get(type, table.fixed)
            entries = table.entries[first:]
            self._sent[type] = first + len(entries)
            if entries:
                new.append((type, first, entries))
        return new[::-1]
