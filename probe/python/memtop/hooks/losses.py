"""The loss of a step, if the agent can see it."""

from __future__ import annotations

import sys
from typing import Any

import torch

from ..memory.stacks import place_of, variables_of
from ..safety.inspection import is_a
from ..safety.threads import touches
from .layers import Layers, number


@touches
def loss_of(layers: Layers) -> float | None:
    """Return the loss: a model's result, or a variable of the program named "loss". Only values that can be read
    without waiting for a device count. If a model ran several times in a step, the last result is not the step's loss:
    programs and frameworks that accumulate gradients add up or divide the losses."""
    if layers.accumulates:
        return None
    if layers.losses:
        return layers.losses[-1]
    frame = place_of(sys._getframe(1))
    while frame is not None:
        value: Any = variables_of(frame).get("loss")
        if is_a(value, torch.Tensor) and value.dim() == 0 and value.device.type == "cpu":
            return number(value)
        frame = place_of(frame.f_back)
    return None
