"""A small GPT that learns to repeat itself, on any device PyTorch has: something to look at with memtop.

    memtop run -- python examples/train.py
"""

import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.joined = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in self.joined(x).split(width, 2)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads)
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(3)
        return self.project((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, length, layers, width, heads):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return logits, functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in dict(steps=1000, batch=8, length=128, layers=6, width=192, heads=6, vocabulary=1024, seed=0).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--leak", action="store_true", help="keep something of every step, as a careless program would")
    parser.add_argument("--pause", type=float, default=0, help="seconds to wait after each step")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(options.seed)
    model = GPT(options.vocabulary, options.length, options.layers, options.width, options.heads).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    history = []
    for step in range(1, options.steps + 1):
        tokens = torch.randint(options.vocabulary, (options.batch, options.length + 1), device=device)
        tokens[:, options.length // 2 :] = tokens[:, : options.length + 1 - options.length // 2].clone()
        logits, loss = model(tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if options.leak:
            history.append(logits.detach().max(2).values)
        print(f"step {step}  loss {loss.item():.9f}", flush=True)
        time.sleep(options.pause)


if __name__ == "__main__":
    main()
