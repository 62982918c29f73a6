"""Changes that a rehearsal makes to its program: what would it take with them?

They are the agent's own settings, changed at the end of a step as a viewer's key does. So
a program begins as it is written, and is measured once all of its changes hold.
"""

from __future__ import annotations

import os
from typing import Any

from .program import Refused

CHANGES = "MEMTOP_REHEARSAL_CHANGES"  # KEY=VALUE, with spaces between
PATIENCE = 6  # steps in which a setting may become possible: a look at one comes first


class Trial:
    """Belongs to the thread that trains."""

    def __init__(self) -> None:
        self._open = dict(text.split("=", 1) for text in os.environ.get(CHANGES, "").split())
        self._asked = False
        self._steps = 0
        self.refused = ""  # why one of them cannot be made

    @property
    def pending(self) -> bool:
        """Whether there are changes that do not hold yet."""
        return bool(self._open)

    def stepped(self, watch: Any) -> None:
        """Go on at the end of a step. `watch` is the agent's."""
        watch.want(True)  # a setting is offered once a step was looked at
        self._steps += 1
        in_force = dict(watch.settings.values())
        self._open = {key: value for key, value in self._open.items() if in_force.get(key) != value}
        if self._asked:
            return
        try:
            for key, value in self._open.items():
                watch.settings.change(key, value)
            self._asked = True
        except Refused as refused:
            if self._steps >= PATIENCE:
                self.refused = str(refused)
