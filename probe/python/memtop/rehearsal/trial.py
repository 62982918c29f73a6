"""Changes that a rehearsal makes to its program, to measure its memory with them.

They are the agent's own settings, changed at the end of a step, as from a viewer. So the
program begins unchanged, and is measured once all of its changes are in use.
"""

from __future__ import annotations

import os
from typing import Any

from ..link.program import Refused

CHANGES = "MEMTOP_REHEARSAL_CHANGES"  # KEY=VALUE, separated by spaces
PATIENCE = 6  # steps until a setting must be available: some settings need a measured step first


class Trial:
    """Belongs to the training thread."""

    def __init__(self) -> None:
        self._open = dict(text.split("=", 1) for text in os.environ.get(CHANGES, "").split())
        self._asked = False
        self._steps = 0
        self.refused = ""  # why one of the changes cannot be made

    @property
    def pending(self) -> bool:
        """Whether some changes are not in use yet."""
        return bool(self._open)

    def stepped(self, watch: Any) -> None:
        """Go on with the changes after a step. `watch` is the agent's."""
        watch.want(True)  # settings are offered only after a measured step
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
