"""`total += loss` keeps the graph's end of every step, and a list the features of each batch."""

import torch

import train
from parts import GPT, remedied
from truth import Truth

truth = Truth("checkpointing", "growth", "stale_results", "logits", expect=("growth",))
truth.record()
model = remedied(truth, GPT(width=512, layers=4, heads=8).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train.keep(truth, model, optimizer)
total, features = 0, []
model.norm.register_forward_hook(lambda module, given, made: features.append(made))
for _ in range(12):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (8, 512)).cuda()
    targets = torch.randint(0, 8192, (8, 512)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    total += loss
    train.backward_and_step(truth, loss, optimizer)
    if truth.change in ("growth", "stale_results"):
        total = total.detach()
        features.clear()
    truth.step()
truth.end()
