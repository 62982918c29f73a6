"""The changes of settings that viewers asked for, and their state.

A change is first noted as pending, then its effect is predicted, then the program gets it: one
change at a time, on the thread of the request. It counts as applied at the first step that reports
its value. It is refused if another change of the same setting replaces it before a step uses it, or
if the program drops it. The steps are read from the journal when a viewer or a request looks, so
a step costs the program nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .journal import STEP, Journal, Message, now_us
from .program import Json, Program, Refused
from .request import Refusal

_KEPT = 512  # changes; when there are more, the oldest settled ones are dropped
_WAITING = 64  # changes that no step has reported yet
# This many steps may still report another value: the step that ran when the program accepted the change, one whose
# report was already being written, and one more in programs that prepare steps ahead.
_STEPS_WITHOUT = 3


@dataclass
class _Awaited:
    """A change that waits for a step to report it."""

    id: int
    key: str
    values: set[str]  # the value as the viewer wrote it, and as the program writes it
    at: int = 0  # the first step that is to use it, 0 for the next one
    taken: bool = False  # the program has accepted it
    without: int | None = None  # the first step after that which reported another value


class Changes:
    """Safe for concurrent use. `waiting` is called whenever a change begins or stops waiting for a step."""

    def __init__(self, program: Program, journal: Journal, waiting: Callable[[], None]) -> None:
        self._program = program
        self._journal = journal
        self._waiting = waiting
        self._turn = threading.Lock()  # held while a change is being made
        self._lock = threading.Lock()
        self._list: list[Json] = []  # entries are replaced, never modified
        self._awaited: list[_Awaited] = []
        self._ids = 0
        self._version = 0
        self._position = 0  # in the journal

    @property
    def pending(self) -> bool:
        """Whether a change waits for a step."""
        return bool(self._awaited)

    def view(self) -> tuple[list[Json], int]:
        """Return the changes, and a version number that differs whenever they do."""
        with self._lock:
            self._look()
            return list(self._list), self._version

    def make(self, key: str, value: str, at: int = 0) -> int:
        """Make a change, from the next step on or from step `at`, and return its number."""
        with self._turn:
            option, reason = self._find(key, value)
            with self._lock:
                self._look()
                if not reason and len(self._awaited) >= _WAITING:
                    reason = f"{_WAITING} changes wait for a step already"
                id = self._add(key, option.get("value", ""), value)
            if not reason:
                reason = self._try(id, key, value, at)
            if reason:
                with self._lock:
                    self._edit(id, state="refused", reason=reason)
        self._waiting()
        return id

    def predict(self, key: str, value: str) -> Json | None:
        """Return what a change would do, without making it."""
        if reason := self._find(key, value)[1]:
            raise Refusal(400, reason)
        with self._turn:
            return self._predict(key, value)

    def settled(self, ids: Sequence[int]) -> bool:
        """Report whether none of the changes waits for a step."""
        self.view()
        return not any(awaited.id in ids for awaited in self._awaited)

    def refuse(self, reason: str, keys: Sequence[str]) -> None:
        """Mark accepted changes of these settings as refused: the program could not use them."""
        with self._lock:
            self._look()
            for awaited in [a for a in self._awaited if a.key in keys]:
                self._refuse(awaited, reason)
        self._waiting()

    def _find(self, key: str, value: str) -> tuple[Json, str]:
        """Return the option, and the reason why it cannot take the value, "" if it can."""
        option = next((o for o in self._program.options() if o["key"] == key), None)
        if option is None:
            return {}, f'there is no setting "{key}"'
        choices = option.get("choices") or []
        if not option.get("free") and value not in choices:
            return option, f"{key} takes {', '.join(choices)}"
        return option, ""

    def _try(self, id: int, key: str, value: str, at: int) -> str:
        """Hand a change to the program. Return the reason if it was refused."""
        if predicted := self._predict(key, value):
            with self._lock:
                self._edit(id, predicted=predicted)
        awaited = _Awaited(id, key, {value}, at)
        with self._lock:
            if not self._awaited:
                self._position = self._journal.position
            self._awaited.append(awaited)  # before the program gets it: the next step may end before `change` returns
        self._waiting()
        try:
            self._program.change(key, value, at)
        except Exception as error:
            with self._lock:
                self._awaited = [a for a in self._awaited if a is not awaited]
            return str(error) if isinstance(error, Refused) else f"the program failed to make it: {error!r}"
        # the options show the values of the next step
        spelled = value if at else self._find(key, value)[0].get("value") or value
        with self._lock:
            if spelled != value:
                self._edit(id, to=spelled)
            awaited.values.add(spelled)
            awaited.taken = True
            self._version += 1  # the options have changed
        return ""

    def _predict(self, key: str, value: str) -> Json | None:
        try:
            return self._program.predict(key, value)
        except Exception:
            return None  # the effect is not known

    def _add(self, key: str, old: str, new: str) -> int:
        self._ids += 1
        entry = {"id": self._ids, "time_us": now_us(), "key": key, "from": old, "to": new, "state": "pending"}
        if len(self._list) >= _KEPT:
            del self._list[next((at for at, e in enumerate(self._list) if e["state"] != "pending"), 0)]
        self._list.append(entry)
        self._version += 1
        return self._ids

    def _edit(self, id: int, **fields: object) -> None:
        self._list = [{**entry, **fields} if entry["id"] == id else entry for entry in self._list]
        self._version += 1

    def _refuse(self, awaited: _Awaited, reason: str) -> None:
        self._awaited.remove(awaited)
        self._edit(awaited.id, state="refused", reason=reason)

    def _look(self) -> None:
        """Read the steps since the last look. Wait until every change has been accepted: only then is it known how the
        program writes each value."""
        if not self._awaited or not all(awaited.taken for awaited in self._awaited):
            return
        batch = self._journal.since(self._position)
        self._position = batch.position
        for entry in batch.entries:
            if isinstance(entry, Message) and entry.type == STEP:
                self._stepped(entry.data)

    def _stepped(self, step: Json) -> None:
        used = {setting["key"]: setting["value"] for setting in step.get("settings") or []}
        shown: dict[str, int] = {}  # by setting, the latest change that this step reports
        for awaited in reversed(self._awaited[:]):
            if awaited.key not in used:
                continue
            if used[awaited.key] in awaited.values:
                self._awaited.remove(awaited)
                self._edit(awaited.id, state="applied", step=step["step"])
                shown.setdefault(awaited.key, awaited.id)
            elif awaited.key in shown:
                self._refuse(awaited, f"change {shown[awaited.key]} came before a step used it")
            elif awaited.taken and step["step"] >= awaited.at:
                awaited.without = step["step"] if awaited.without is None else awaited.without
                if step["step"] - awaited.without >= _STEPS_WITHOUT:
                    self._refuse(awaited, "the program accepted it and went on without it")
