"""Programs that train, with an agent or without: what the tests of settings run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
import train
from kept import Kept, Message

from memtop.link.queue import STEP
from memtop.watch.sampling import Sampling
from memtop.watch.watch import Watch


class Job:
    """A program that trains. `make` returns a model and a function that returns its loss."""

    def __init__(self, make: Any, watched: bool = True) -> None:
        torch.manual_seed(1)
        self.model, self.forward = make()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.losses: list[float] = []
        self.link = Kept()
        self.refused: list[str] = []
        if watched:
            self.watch = Watch(self.link)
            self.watch.sampling = Sampling(credit_ns=10**15)  # every step is looked at
            self.settings = self.watch.settings
            self.settings.refused = lambda reason, key: self.refused.append(reason)
            self.watch.want(True)

    def train(self, steps: int = 3) -> None:
        for _ in range(steps):
            loss = self.forward()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(float(loss.detach()))
            del loss

    def change(self, key: str, value: str) -> None:
        self.settings.change(key, value)

    def steps(self) -> list[dict[str, Any]]:
        return [e.data for e in self.link.entries if isinstance(e, Message) and e.type == STEP]

    def activations(self) -> int:
        return next(a["bytes"] for a in self.steps()[-1]["categories_at_peak"] if a["name"] == "activation")

    def peak(self) -> int:
        return int(self.steps()[-1]["peak_allocated_bytes"])

    def close(self) -> None:
        if hasattr(self, "watch"):
            self.watch.close()


def gpt(layers: int = 4) -> Any:
    model = train.GPT(vocabulary=97, length=64, layers=layers, width=64, heads=4)
    model.blocks.append(torch.nn.Dropout(0.1))  # something random after the blocks; and no block

    def forward() -> Any:
        tokens = torch.randint(97, (8, 65))
        return model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())[1]

    return model, forward


def dropping() -> Any:
    """Blocks that draw random numbers of PyTorch's."""
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.3, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.TransformerEncoder(layer, 3), torch.nn.Linear(32, 1))
    return model, lambda: model(torch.randn(16, 12, 8)).pow(2).mean()
