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
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def pieces(model: Any, x: Any, targets: Any) -> Any:
    """The loss in eight pieces, none of which keeps its logits."""
    parts = zip(x.chunk(8), targets.chunk(8))
    return sum(checkpoint(GPT.loss, model, a, b, use_reentrant=False) for a, b in parts) / 8


def gradients(module: nn.Module) -> list[Any]:
    return [p.grad for p in module.parameters() if p.grad is not None]


def weights(module: nn.Module) -> list[Any]:
    return [*module.parameters(), *module.buffers()]


def states(optimizer: Any) -> list[Any]:
    return [t for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor)]
