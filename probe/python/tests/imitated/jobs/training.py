"""What most jobs train: blocks like a transformer's, with an optimizer."""

from __future__ import annotations

from typing import Any, Callable

import pace
import torch

WIDTH, BATCH = 256, 32


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.inner, self.outer = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return x + self.outer(torch.nn.functional.gelu(self.inner(self.norm(x))))


class Blocks(torch.nn.Module):
    def __init__(self, blocks: int = 4) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(blocks))

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x.pow(2).mean()


def train(
    device: Any, wrap: Callable[[Any], Any] = lambda model: model, batch: Callable[[], Any] | None = None
) -> None:
    """Train until the test orders the end. The last losses are said at each halt."""
    torch.manual_seed(1)
    model = wrap(Blocks().to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    losses: list[float] = []
    pace.say("begin")
    for _ in pace.steps(pace.held(model, optimizer), lambda: {"losses": losses[-8:]}):
        loss = model(batch() if batch else torch.randn(BATCH, 16, WIDTH, device=device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
