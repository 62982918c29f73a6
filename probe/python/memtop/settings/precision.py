"""The setting `amp`: mixed precision of a model's forward, with autocast to bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..link.program import Refused
from ..safety.threads import called_by_pytorch, touches
from .obstacles import why_fixed
from .replaced_forward import ReplacedForward, is_replaced, took_part
from .survey import Survey

OFF, BF16 = "off", "bf16"


class Precision:
    """See `setting.Setting`. The results of a model keep the types that they have without autocast, so a loss outside
    the model is computed as the program wrote it."""

    key = "amp"
    about = "autocast the model's forward in training: bf16 for matrix products; a loss outside the model is unchanged"
    once = False
    names = ""
    choices = (OFF, BF16)

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._standing: list[Mixed] = []
        self.value = OFF

    def ran(self) -> bool:
        """Report whether a model that autocast was turned on for has run in training in the step that ends."""
        return took_part(self._standing) or self.value == OFF

    @touches
    def check(self, value: str) -> None:
        """Raise `Refused` where a value cannot be used."""
        if value == OFF:
            return
        self._survey.demand()
        if self._survey.mixed:
            raise Refused(f"the program sets mixed precision itself: {self._survey.mixed}; change it there")
        if self._survey.custom:
            raise Refused(f"the model uses {self._survey.custom}, whose backward may not support mixed types")
        for model in self._survey.trained:
            why = why_fixed(model.modules()) or self._why(model)
            if why:
                raise Refused(f"{type(model).__name__}: {why}")

    @touches
    def _why(self, model: Any) -> str:
        if is_replaced(model):
            return "the program has replaced its forward"
        types = {p.dtype for p in model.parameters() if p.dtype.is_floating_point}
        half = next((t for t in types if t != torch.float32), None)
        if half is not None:
            return f"it has {str(half).replace('torch.', '')} parameters: autocast needs float32 ones"
        if any(p.is_cuda for p in model.parameters()) and not _has_bf16():
            return "its device has no bfloat16"
        return ""

    def switch(self, value: str) -> None:
        """Use the value from now on."""
        self.check(value)
        self.restore()
        if value == BF16:
            for model in self._survey.trained:
                mixed = Mixed(model)
                self._standing.append(mixed)  # first: a signal handler may raise after any line
                mixed.put()
        self.value = value
        self._survey.amp = value
        self._survey.renew()

    def restore(self) -> None:
        """Put everything back as the program made it."""
        while self._standing:
            self._standing.pop().remove()
        self.value = self._survey.amp = OFF


def _has_bf16() -> bool:
    """Report whether the device computes bfloat16 itself. PyTorch emulates it on older ones, which is slow."""
    return torch.cuda.get_device_capability()[0] >= 8 or torch.version.hip is not None


class Mixed(ReplacedForward):
    """Runs a model under autocast in training."""

    @called_by_pytorch
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute the forward."""
        module = self.module
        if not module.training or not torch.is_grad_enabled():
            return super().__call__(*arguments, **named)
        self.ran = True
        device = next((p.device.type for p in module.parameters()), "cpu")
        with torch.autocast(device, torch.bfloat16):
            return full(super().__call__(*arguments, **named))


@touches
def full(value: Any) -> Any:
    """Return a value with its bfloat16 tensors as float32."""
    return _map(value, lambda tensor: tensor.float() if tensor.dtype is torch.bfloat16 else tensor)


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return type(value)({key: _map(item, change) for key, item in value.items()})  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(item, change) for item in value))
    if type(value) in (list, tuple):
        return type(value)(_map(item, change) for item in value)
    return value
