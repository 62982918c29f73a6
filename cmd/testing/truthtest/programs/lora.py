"""A frozen model with low-rank adapters; the layers keep their inputs for the adapters' gradients only."""

import torch
from torch import nn

from parts import GPT, gradients, remedied, states, weights
from truth import Truth

truth = Truth("checkpointing", "logits", wrong={"in_place": "the dropout's input is also the frozen layer's"})
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
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))


for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (8, 512)).to("cuda")
    targets = torch.randint(0, 8192, (8, 512)).to("cuda")
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()
    truth.step()
truth.end()
