"""A small UNet, as in diffusion."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, i), nn.GroupNorm(8, o)
        self.conv1, self.conv2 = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
        self.time = nn.Linear(256, o)
        self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x: Any, t: Any) -> Any:
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(t)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class UNet(nn.Module):
    def __init__(self, width: int = 64, channels: int = 3) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width]
        self.time = nn.Sequential(nn.Linear(1, 256), nn.SiLU(), nn.Linear(256, 256))
        self.begin = nn.Conv2d(channels, width, 3, padding=1)
        self.down = nn.ModuleList(Residual(i, o) for i, o in zip([width, *sizes], sizes))
        self.middle = Residual(sizes[-1], sizes[-1])
        self.up = nn.ModuleList(Residual(i + s, s) for i, s in zip([sizes[-1], *reversed(sizes)], reversed(sizes)))
        self.end = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x: Any, t: Any) -> Any:
        t = self.time(t)
        h = self.begin(x)
        skips = []
        for block in self.down:
            h = block(h, t)
            skips.append(h)
            h = F.avg_pool2d(h, 2)
        h = self.middle(h, t)
        for block in self.up:
            h = F.interpolate(h, scale_factor=2, mode="nearest")
            h = block(torch.cat([h, skips.pop()], dim=1), t)
        return self.end(h)
