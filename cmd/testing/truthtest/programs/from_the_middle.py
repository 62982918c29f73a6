"""The history begins after three steps: weights, gradients' places and state are older than it."""

import torch

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
model = remedied(truth, GPT(width=1024, layers=8, heads=16, words=4096).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)


def step():
    truth.phase("data")
    tokens = torch.randint(0, 4096, (8, 512)).cuda()
    targets = torch.randint(0, 4096, (8, 512)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    train.backward_and_step(truth, loss, optimizer)


for _ in range(3):
    step()
truth.record()
for _ in range(3):
    step()
    truth.step()
truth.end()
