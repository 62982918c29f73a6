"""The interface of one setting in the table of settings."""

from __future__ import annotations

from typing import Protocol

NONE = "none"  # the value of a one-time setting, before and after its step


class Setting(Protocol):
    """A setting. It belongs to the training thread, between two steps. Any thread may read `key`, `once`, `choices`,
    `names` and `value`."""

    @property
    def key(self) -> str: ...

    @property
    def once(self) -> bool:
        """Whether a value is used for one step only."""
        ...

    @property
    def about(self) -> str:
        """A description in one line."""
        ...

    @property
    def choices(self) -> tuple[str, ...]: ...

    @property
    def names(self) -> str:
        """How a value begins that names parts of the model instead of being a choice; "" if there are none."""
        ...

    @property
    def value(self) -> str:
        """The value in use."""
        ...

    def ran(self) -> bool:
        """Report whether the step that ends ran with the value in use. Reading it begins the next step."""

    def check(self, value: str) -> None:
        """Raise `Refused` if the value cannot be used now."""

    def switch(self, value: str) -> None:
        """Use the value from now on. It may raise `Refused`."""

    def restore(self) -> None:
        """Put everything back as the program made it."""
