"""How several programs train, as a project's train.py."""

from __future__ import annotations

from typing import Any

import torch

from parts import gradients, states, weights


def keep(truth: Any, model: Any, optimizer: Any) -> None:
    """Say what a model and its optimizer hold."""
    truth.keep("parameter", lambda: weights(model))
    truth.keep("gradient", lambda: gradients(model))
    truth.keep("optimizer", lambda: states(optimizer))


def backward_and_step(truth: Any, loss: Any, optimizer: Any) -> None:
    """Run backward, and update the parameters."""
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()


def steps(truth: Any, model: Any, optimizer: Any, count: int, batch: int, length: int) -> None:
    """Train a language model of 8,192 words."""
    for _ in range(count):
        truth.phase("data")
        tokens = torch.randint(0, 8192, (batch, length)).cuda()
        targets = torch.randint(0, 8192, (batch, length)).cuda()
        truth.phase("forward")
        loss = model(tokens, targets)
        backward_and_step(truth, loss, optimizer)
        truth.step()
