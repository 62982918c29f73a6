"""Changes that a rehearsal makes to its program, to measure its memory with them.

Most are the agent's own settings, changed at the end of a step, as from a viewer. So the program begins unchanged, and
is measured once all of its changes are in use. Two are arguments that the program could give when it makes an object:
those are in use from the first step on, which is not measured either.
"""

from __future__ import annotations

from typing import Any

import torch

from ..link.program import Refused
from ..safety.threads import called_by_pytorch
from .imitated import told

FUSED, BUCKET_VIEW, ON = "fused", "bucket_view", "on"
PATIENCE = 6  # steps until a setting must be available: some settings need a measured step first


class Trial:
    """Belongs to the training thread."""

    def __init__(self) -> None:
        self._open = dict(text.split("=", 1) for text in told()["changes"].split())
        self._asked = False
        self._steps = 0
        self._given: set[str] = set()  # arguments that an object has taken
        if FUSED in self._open:
            from torch.optim.optimizer import register_optimizer_step_pre_hook  # old versions have none

            register_optimizer_step_pre_hook(self._fuse)
        if BUCKET_VIEW in self._open:
            self._view_buckets()
        self.refused = ""  # why one of the changes cannot be made

    @property
    def pending(self) -> bool:
        """Whether some changes are not in use yet."""
        return bool(self._open)

    def stepped(self, watch: Any) -> None:
        """Go on with the changes after a step. `watch` is the agent's."""
        watch.want(True)  # settings are offered only after a measured step
        self._steps += 1
        in_force = {**dict(watch.settings.values()), **dict.fromkeys(self._given, ON)}
        self._open = {key: value for key, value in self._open.items() if in_force.get(key) != value}
        if given := self._open.keys() & {FUSED, BUCKET_VIEW}:
            self.refused = f"{' and '.join(sorted(given))}: nothing in the program takes it, or it has chosen otherwise"
        if self._asked or given:
            return
        try:
            for key, value in self._open.items():
                watch.settings.change(key, value)
            self._asked = True
        except Refused as refused:
            if self._steps >= PATIENCE:
                self.refused = str(refused)

    @called_by_pytorch
    def _fuse(self, optimizer: Any, *_: Any) -> None:
        """Let an optimizer that has chosen neither form take the fused one, before its first step."""
        if optimizer.state:
            return
        for group in optimizer.param_groups:
            if not group.get("fused", True) and not group.get("foreach") and not group.get("differentiable"):
                group["fused"] = True
                self._given.add(FUSED)

    def _view_buckets(self) -> None:
        kind: Any = torch.nn.parallel.DistributedDataParallel
        made = kind.__init__

        def viewing(model: Any, *arguments: Any, **named: Any) -> None:
            if not named.get("gradient_as_bucket_view"):
                named["gradient_as_bucket_view"] = True
                self._given.add(BUCKET_VIEW)
            made(model, *arguments, **named)

        kind.__init__ = viewing
