"""A small model that trains at a fixed pace: what the jobs of this folder have in common."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 1


def turns(a_second: int = 60) -> Iterator[int]:
    """Count the turns of a job that makes about so many a second."""
    for turn in range(SECONDS * a_second):
        yield turn
        time.sleep(0.6 / a_second)


class Training:
    """A model, its optimizer and its own random inputs."""

    def __init__(self, seed: int = 1, depth: int = 2) -> None:
        self.inputs = torch.Generator().manual_seed(seed)
        layers = [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(depth)]
        self.model = torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-2, momentum=0.9)

    def input(self) -> torch.Tensor:
        return torch.randn(4, 8, generator=self.inputs)

    def loss(self) -> torch.Tensor:
        return self.model(self.input()).pow(2).mean()

    def step(self) -> torch.Tensor:
        """Make a step of the optimizer, and return the loss before it."""
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()
