"""Training on two devices in one process: half of the blocks on each."""

from __future__ import annotations

from typing import Any

import torch
from training import train


class Halves(torch.nn.Module):
    def __init__(self, blocks: Any) -> None:
        super().__init__()
        self.first, self.second = blocks[:2].to("cuda:0"), blocks[2:].to("cuda:1")

    def forward(self, x: Any) -> Any:
        for block in self.first:
            x = block(x)
        x = x.to("cuda:1")
        for block in self.second:
            x = block(x)
        return x.pow(2).mean()


train(torch.device("cuda:0"), lambda model: Halves(model.blocks))
