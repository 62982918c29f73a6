"""Modules that several programs use, as a project's model.py."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    """Fused attention, or by hand with all of its scores."""

    def __init__(self, width: int, heads: int, fused: bool = True) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any, cache: Any = None) -> Any:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.update(k, v)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        else:
            scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
            y = torch.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int, heads: int, fused: bool = True) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, fused)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Any, cache: Any = None) -> Any:
        x = x + self.attention(self.ln1(x), cache)
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """A language model. `call` calls each layer, and `loss` the head and the loss: for checkpointing."""

    def __init__(
        self,
        width: int = 512,
        layers: int = 8,
        heads: int = 8,
        words: int = 8192,
        length: int = 512,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, fused) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.call: Any = lambda block, x: block(x)

    def forward(self, tokens: Any, targets: Any = None) -> Any:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = self.call(block, x)
        x = self.norm(x)
        return self.head(x) if targets is None else self.loss(x, targets)

    def loss(self, x: Any, targets: Any) -> Any:
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.flatten())


def pieces(model: Any, x: Any, targets: Any) -> Any:
    """The loss in eight pieces, none of which keeps its logits."""
    parts = zip(x.flatten(0, 1).chunk(8), targets.flatten().chunk(8))
    return sum(checkpoint(GPT.loss, model, a, b, use_reentrant=False) for a, b in parts) / 8


class Adam8bit(torch.optim.Optimizer):
    """Adam's moments in one byte each and a scale for 256 of them, updated in one kernel as bitsandbytes does. The
    kernel is left out: the imitated GPU computes nothing."""

    def __init__(self, params: Any, **options: Any) -> None:
        super().__init__(params, {"lr": options.get("lr", 1e-4)})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for p in (p for group in self.param_groups for p in group["params"] if p.grad is not None):
            state = self.state[p]
            for name in ("m", "v") if not state else ():
                state[name] = torch.zeros_like(p, dtype=torch.uint8)
                state[name + "_scales"] = torch.zeros(-(-p.numel() // 256), device=p.device)
            p.mul_(1)


def adam(truth: Any, params: Any, **options: Any) -> Any:
    """Adam as most use it, or with the change `optimizer_state`."""
    kind = Adam8bit if truth.change == "optimizer_state" else torch.optim.AdamW
    return kind(params, **options)


def remedied(truth: Any, model: Any) -> Any:
    """A GPT with the change `checkpointing` or `logits`, if it is wanted."""
    if truth.change == "checkpointing":
        model.call = lambda block, x: checkpoint(again, truth, block, x, use_reentrant=False)
    if truth.change == "logits":
        model.loss = lambda x, targets: pieces(model, x, targets)
    return model


def smaller(truth: Any, batch: int) -> int:
    """A batch, or with the change `batch` the one that is as many percent smaller."""
    return int(batch * (1 - truth.percent / 100))


def again(truth: Any, block: Any, *given: Any) -> Any:
    """Call a layer, as backward does again."""
    with truth.during("forward"):
        return block(*given)


def gradients(module: nn.Module) -> list[Any]:
    return [p.grad for p in module.parameters() if p.grad is not None]


def weights(module: nn.Module) -> list[Any]:
    return [*module.parameters(), *module.buffers()]


def states(optimizer: Any) -> list[Any]:
    return [t for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor)]
