#!/usr/bin/env python3
"""Trains a small GPT with PyTorch and writes down what it did.

    python3 reference.py        (PyTorch 2.15, CPU, wrote what is kept)

weights.pt    the weights before the first step, under GPT-2's names
reference.json  the tokens of every batch, and for each optimizer the loss of
              every step before it was taken
"""
import json
import torch
from torch import nn
from torch.nn import functional as F

LAYERS, DIM, HEADS, CONTEXT, VOCAB, BATCH, STEPS = 2, 16, 2, 12, 32, 3, 50


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(DIM, 3 * DIM)
        self.c_proj = nn.Linear(DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, DIM // HEADS).transpose(1, 2) for y in self.c_attn(x).split(DIM, dim=2))
        scores = q @ k.transpose(2, 3) / (DIM // HEADS) ** 0.5
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(b, t, DIM))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = nn.Linear(DIM, 4 * DIM)
        self.c_proj = nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(DIM), Attention(), nn.LayerNorm(DIM), MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(VOCAB, DIM),
                wpe=nn.Embedding(CONTEXT, DIM),
                h=nn.ModuleList(Block() for _ in range(LAYERS)),
                ln_f=nn.LayerNorm(DIM),
            )
        )
        self.lm_head = nn.Linear(DIM, VOCAB, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, tokens):
        t = self.transformer
        x = t.wte(tokens) + t.wpe(torch.arange(tokens.shape[1]))
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x))


OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
}


def main():
    torch.manual_seed(0)
    model = GPT()
    for name, p in model.named_parameters():
        if p.dim() == 2:
            nn.init.normal_(p, std=0.2)
    torch.save(model.state_dict(), "weights.pt")
    # A walk that can be learned: each token follows from the one before it.
    tokens = torch.zeros(STEPS, BATCH, CONTEXT + 1, dtype=torch.long)
    tokens[:, :, 0] = torch.randint(VOCAB, (STEPS, BATCH))
    for i in range(CONTEXT):
        tokens[:, :, i + 1] = (tokens[:, :, i] * 5 + 3 + torch.randint(2, (STEPS, BATCH))) % VOCAB
    losses = {}
    for name, make in OPTIMIZERS.items():
        model.load_state_dict(torch.load("weights.pt"))
        optimizer = make(model.parameters())
        losses[name] = []
        for batch in tokens:
            loss = F.cross_entropy(model(batch[:, :-1]).reshape(-1, VOCAB), batch[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses[name].append(loss.item())
    sizes = dict(layers=LAYERS, dim=DIM, heads=HEADS, context=CONTEXT, vocab=VOCAB, batch=BATCH)
    with open("reference.json", "w") as f:
        json.dump(dict(torch=torch.__version__.split("+")[0], **sizes, tokens=tokens.tolist(), losses=losses), f)
        f.write("\n")


main()
