"""Telling: the message about a step that has ended, and the events of the changes made at its end."""

from __future__ import annotations

from typing import Any

from ..hooks.step_numbers import StepNumbers
from ..settings.precision import Precision
from ..watch.measurement import Look
from .queue import SETTING_CHANGED, STEP, Link


class StepMessage:
    """Tells viewers of steps. It belongs to the training thread."""

    def __init__(self, link: Link, steps: StepNumbers, look: Look) -> None:
        self._link, self._steps, self._look = link, steps, look

    def tell(
        self, data: dict[str, Any], used: list[tuple[str, str]], changed: list[tuple[str, str]], on_host: bool
    ) -> None:
        """Send a message about the ended step, and the changes made at its end, which leave the list. `on_host`: the
        memory watched is the processor's."""
        if not on_host:
            used.append(("layer_times", "processor"))  # measured without waiting for the device
        if mixed := self._look.survey.mixed:  # "off" would be true only of the agent's own
            used[:] = [(key, value) for key, value in used if key != Precision.key]
            used.append(("autocast", f"{mixed}, by the program"))
        if self._look.compiled:
            used.append(("layers", "not watched: the model is compiled"))
        data["settings"] = [{"key": key, "value": value} for key, value in sorted(used)]
        self._link.message(STEP, data)
        while changed:
            key, value = changed[0]
            with self._link.lock:
                note = self._link.tables.note(metadata=f"{key}={value}")
            self._link.event(SETTING_CHANGED, 0, self._steps.ended + 1, note=note)
            del changed[0]
