"""GPT-2 with 124 million parameters in plain PyTorch: ten steps of 16 × 1,024 tokens in bf16, or on the processor."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--steps", type=int, default=10)
options = parser.parse_args()
WIDTH, HEADS, LAYERS, TOKENS, WORDS = 768, 12, 12, 1024, 50_304


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(self.before(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.between(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks, self.last = nn.Sequential(*[Block() for _ in range(LAYERS)]), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = self.words(x) + self.places.weight[: x.shape[1]]
        return F.linear(self.last(self.blocks(x)), self.words.weight)


model = GPT().to(options.device)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(options.steps):
    x = torch.randint(0, WORDS, (options.batch, TOKENS)).to(options.device)
    with torch.autocast(options.device, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
