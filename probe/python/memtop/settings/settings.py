"""The table of settings: what a viewer may change, what it asked for, and when that is done.

A viewer asks at any time. The training thread makes the change between two steps, so that no step
runs with two values: before the next step, or before the step that the viewer names, so that all
ranks of a job change at the same step.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..hooks.step_numbers import StepNumbers
from ..link.program import Json, Refused
from ..safety.interrupts import let_through
from ..safety.threads import allowed
from .setting import NONE, Setting

READ_ONLY = "MEMTOP_READ_ONLY"  # an environment variable of the program, see C3 of docs/protocol.md

_WITHOUT = 3  # steps that may run without a value before it is given up


class Offer(NamedTuple):
    """What is known about a setting, for any thread to read."""

    about: str
    why_not: dict[str, str]  # by value, the reason why it cannot be used, "" if it can


class Settings:
    """`renew`, `apply`, `values`, `end` and `restore` belong to the thread that trains; the rest is for any thread."""

    def __init__(self, table: Sequence[Setting], steps: StepNumbers) -> None:
        self.read_only = os.environ.get(READ_ONLY, "").lower() not in ("", "0", "false")
        self._table = {setting.key: setting for setting in table}
        # is called when an accepted change cannot be made
        self.refused: Callable[[str, str], None] = lambda reason, key: None
        self._once = [setting for setting in table if setting.once]
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[str, int]] = {}  # by key, in order: the value, and the first step to use it
        self._without: dict[str, int] = {}  # by key, the steps that have ended without the value in use
        self._steps = steps
        self._in_use = False  # some setting has another value than the program began with
        self._offers: dict[str, Offer] = {}  # replaced, never modified
        with allowed():  # nothing of the program can be touched yet
            self.renew()

    def renew(self) -> None:
        """Find out which values can be used now. Other threads see this until the next call."""
        self._offers = {setting.key: _offer(setting) for setting in self._table.values()}

    def options(self) -> Sequence[Json]:
        """Return the settings that a viewer may change, with their values of the next step."""
        with self._lock:
            soon = {key: value for key, (value, at) in self._asked.items() if at <= self._steps.ended + 2}
        return [
            {
                "key": s.key, "value": soon.get(s.key, s.value), "about": self._offers[s.key].about,
                "choices": list(s.choices), "free": bool(s.names),
            }
            for s in self._table.values()
            if s.once or len(s.choices) > 1
        ]  # fmt: skip

    def change(self, key: str, value: str, at: int = 0) -> None:
        """Use a value from the next step on, or from step `at`; it replaces an earlier request. May raise `Refused`."""
        if why_not := self._find(key, value).why_not.get(value, ""):
            raise Refused(why_not)
        with self._lock:
            before = self._asked.pop(key, None)
            self._asked[key] = value, at
            self._steps.wake()
            if 0 < at <= self._steps.ended + 1:
                del self._asked[key]
                self._asked.update({key: before} if before else {})
                raise Refused(f"step {at} has begun already")

    def _find(self, key: str, value: str) -> Offer:
        setting = self._table.get(key)
        if self.read_only:
            raise Refused(f"{READ_ONLY} is set in the program's environment: nothing may be changed")
        if setting is None:
            raise Refused(f"there is no setting {key}")
        if value not in setting.choices and not (setting.names and value.startswith(setting.names)):
            raise Refused(f"{key} takes {', '.join(setting.choices)}")
        return self._offers[key]

    def values(self) -> list[tuple[str, str]]:
        """Return the values in use, sorted by key."""
        return sorted((s.key, s.value) for s in self._table.values() if not s.once or s.value != NONE)

    def end(self) -> list[tuple[str, str]]:
        """Return the values with which the ended step ran, sorted by key. A value that the program goes on without is
        given up."""
        found = []
        for s in self._table.values():
            ran = s.ran()
            self._without[s.key] = 0 if ran else self._without.get(s.key, 0) + 1
            if not s.once or s.value != NONE:
                found.append((s.key, s.value if ran else s.choices[0]))
            if self._without[s.key] >= _WITHOUT:
                s.restore()
                self.refused(f"{_WITHOUT} steps ran without it: the program does not call what it stands in for", s.key)
        return sorted(found)

    @property
    def busy(self) -> bool:
        """Whether something is to be done when a step ends: a value is asked for, or one is in use."""
        return bool(self._asked) or self._in_use

    def apply(self, step: int) -> list[tuple[str, str]]:
        """Make the changes that are due at the step that begins, and return them."""
        for setting in self._once:
            setting.restore()
        with self._lock:  # no request for this step is accepted from here on
            due = [(key, value) for key, (value, at) in self._asked.items() if at <= step]
            for key, _ in due:
                del self._asked[key]
        changed = [(key, value) for key, value in due if self._switch(key, value)]
        self._in_use = any(s.value != (NONE if s.once else s.choices[0]) for s in self._table.values())
        if due:
            self.renew()
        return changed

    def _switch(self, key: str, value: str) -> bool:
        try:
            self._table[key].switch(value)
            return True
        except Refused as refused:
            self.refused(str(refused), key)
        except BaseException as error:
            self._table[key].restore()  # what it has half done
            self.refused(f"the change failed: {error!r}", key)
            let_through(error)
        return False

    def restore(self) -> None:
        """Put everything back as the program made it."""
        for setting in self._table.values():
            setting.restore()


def _offer(setting: Setting) -> Offer:
    values = setting.choices
    why_not = {value: _why_not(setting, value) for value in values}
    others = [why for value, why in why_not.items() if value != setting.value]
    about = setting.about
    if others and all(others):
        about = f"not possible now: {others[0]}"
    return Offer(about, why_not)


def _why_not(setting: Setting, value: str) -> str:
    try:
        setting.check(value)
    except Refused as refused:
        return str(refused)
    return ""
