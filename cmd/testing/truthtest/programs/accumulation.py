"""Gradients of four batches are summed before each step; what the last batch gave is still named in the next."""

import torch

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth(
    "checkpointing", "logits", "optimizer_state", "stale_results", wrong={"stale_gradients": "they are being summed"}
)
truth.record(stacks="python")
model = remedied(truth, GPT(width=768, layers=6, heads=12).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
for _ in range(3):
    for _ in range(4):
        truth.phase("data")
        tokens = torch.randint(0, 8192, (8, 512)).cuda()
        targets = torch.randint(0, 8192, (8, 512)).cuda()
        truth.phase("forward")
        loss = model(tokens, targets) / 4
        truth.phase("backward")
        loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()
    truth.step()
truth.end()
