"""What each setting is to the table of settings."""

from __future__ import annotations

from typing import Callable, Protocol

from ..program import Json

NONE = "none"  # the value of a setting that is used once, before and after


def unknown() -> Json | None:
    """Say that it is not known what a value would change."""
    return None


class Setting(Protocol):
    """A setting. It belongs to the thread that trains, between two steps, but for `key`, `once`, `choices` and `value`,
    which any thread may ask for."""

    @property
    def key(self) -> str: ...

    @property
    def once(self) -> bool:
        """Whether a value is used for one step and then goes back by itself."""
        ...

    @property
    def about(self) -> str:
        """One line."""
        ...

    @property
    def choices(self) -> tuple[str, ...]: ...

    @property
    def value(self) -> str:
        """The value in use."""
        ...

    def check(self, value: str) -> None:
        """Raise `Refused` where the value cannot be used now."""

    def foresee(self, value: str) -> Callable[[], Json | None]:
        """Return a function of plain values, for any thread, that says what the value would change, as `predicted` of
        the message change; None where that is not known."""

    def switch(self, value: str) -> None:
        """Use a value from here on. It may raise `Refused`."""

    def restore(self) -> None:
        """Have all be as the program made it."""
