"""The setting `saved_tensors`: where tensors saved for the backward pass are kept."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..program import Json, Refused
from ..saved import SavedTensors
from .setting import unknown
from .survey import Survey

DEVICE, HOST = "device", "host"


class Transfer:
    """See `setting.Setting`."""

    key = "saved_tensors"
    about = "where tensors saved for the backward pass are kept: host copies them to pinned memory and back"
    once = False
    names = ""

    def __init__(self, saved: SavedTensors, survey: Survey) -> None:
        self._saved = saved
        self._survey = survey

    @property
    def choices(self) -> tuple[str, ...]:
        """The places. Without a device, the tensors are in the host's memory already."""
        return (DEVICE, HOST) if torch.cuda.is_initialized() else (DEVICE,)

    @property
    def value(self) -> str:
        """The value in use."""
        return HOST if self._saved.to_host else DEVICE

    def ran(self) -> bool:
        """Report that tensors are kept where the value says."""
        return True

    def check(self, value: str) -> None:
        """Raise `Refused` where a value cannot be used."""
        if value not in self.choices:
            raise Refused("the program uses no GPU: its saved tensors are in host memory already")
        if value == HOST and not self._saved.free():
            raise Refused("the program has its own saved-tensor hooks, or forbids such hooks")

    def foresee(self) -> Callable[[str], Json | None]:
        """Predict nothing: the device decides when a tensor must be back."""
        return unknown

    def switch(self, value: str) -> None:
        """Use the value from now on."""
        self.check(value)
        self._saved.move(value == HOST)
        self._survey.outdate()

    def restore(self) -> None:
        """Put everything back as the program made it."""
        self._saved.move(False)
