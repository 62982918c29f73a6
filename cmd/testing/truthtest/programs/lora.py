"""A frozen model with low-rank adapters; the layers keep their inputs for the adapters' gradients only."""

import torch
from torch import nn

import train
from parts import GPT, remedied
from truth import Truth

truth = Truth("checkpointing", "logits")
truth.record()


class LoRA(nn.Module):
    def __init__(self, base, rank=16):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.base(x) + self.b(self.a(self.dropout(x)))


model = remedied(truth, GPT(width=768, layers=8, heads=12))
model.requires_grad_(False)
for block in model.blocks:
    block.attention.qkv = LoRA(block.attention.qkv)
    block.attention.proj = LoRA(block.attention.proj)
    block.mlp[0] = LoRA(block.mlp[0])
    block.mlp[2] = LoRA(block.mlp[2])
model.to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
train.keep(truth, model, optimizer)
train.steps(truth, model, optimizer, 4, batch=8, length=512)
truth.end()
