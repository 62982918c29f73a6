"""The table of settings: what may be changed, what was asked for, and when it is done.

A viewer asks at any time; the thread that trains does it when a step has ended, so
that no step runs with two values.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from ..program import Json, Refused
from .setting import NONE, Setting

READ_ONLY = "MEMTOP_READ_ONLY"  # in the program's environment: nothing may be changed


def is_read_only() -> bool:
    """Report whether the program's environment forbids changes."""
    return os.environ.get(READ_ONLY, "") not in ("", "0")


class Settings:
    """`apply`, `values` and `restore` belong to the thread that trains; the rest is safe for concurrent use."""

    def __init__(self, table: Sequence[Setting]) -> None:
        self.read_only = is_read_only()
        self._table = {setting.key: setting for setting in table}
        self.refused: Callable[[str, str], None] = lambda reason, key: None  # told of what was taken and cannot be done
        self._once = [setting for setting in table if setting.once]
        self._lock = threading.Lock()
        self._asked: dict[str, str] = {}  # by key, in order

    def options(self) -> Sequence[Json]:
        """Return what may be changed, with the values of the next step."""
        return [
            {
                "key": s.key, "value": self._asked.get(s.key, s.value), "about": s.about, "choices": list(s.choices),
            }
            for s in self._table.values()
        ]  # fmt: skip

    def change(self, key: str, value: str) -> None:
        """Use a value from the next step on, or raise `Refused`."""
        self._find(key, value).check(value)
        with self._lock:
            self._asked.pop(key, None)
            self._asked[key] = value

    def predict(self, key: str, value: str) -> Json | None:
        """Say what a value would change; None where it is not known."""
        return self._find(key, value).predict(value)

    def _find(self, key: str, value: str) -> Setting:
        setting = self._table.get(key)
        if self.read_only:
            raise Refused(f"{READ_ONLY} is set in the program's environment: nothing may be changed")
        if setting is None:
            raise Refused(f"there is no setting {key}")
        if value not in setting.choices:
            raise Refused(f"{key} takes {', '.join(setting.choices)}")
        return setting

    def values(self) -> list[tuple[str, str]]:
        """Return the values in use, by key, ascending."""
        return sorted((s.key, s.value) for s in self._table.values() if not s.once or s.value != NONE)

    def apply(self) -> list[tuple[str, str]]:
        """Make the changes that were asked for, and return them."""
        for setting in self._once:
            setting.restore()
        if not self._asked:
            return []
        with self._lock:
            asked, self._asked = self._asked, {}
        return [(key, value) for key, value in asked.items() if self._switch(key, value)]

    def _switch(self, key: str, value: str) -> bool:
        try:
            self._table[key].switch(value)
            return True
        except Exception as error:
            self.refused(str(error) if isinstance(error, Refused) else f"it cannot be done: {error!r}", key)
            return False

    def restore(self) -> None:
        """Have all be as the program made it."""
        for setting in self._table.values():
            setting.restore()
