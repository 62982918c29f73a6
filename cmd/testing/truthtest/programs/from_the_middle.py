"""The history begins after three steps: weights, gradients' places and state are older than it."""

import torch

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
model = remedied(truth, GPT(width=1024, layers=8, heads=16, words=4096).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)


def train():
    truth.phase("data")
    tokens = torch.randint(0, 4096, (8, 512)).cuda()
    targets = torch.randint(0, 4096, (8, 512)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


for _ in range(3):
    train()
truth.record()
for _ in range(3):
    train()
    truth.step()
truth.end()
