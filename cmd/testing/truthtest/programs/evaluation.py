"""A classifier trains, then is evaluated without no_grad; the results are collected with their graphs."""

import contextlib

import torch
from torch import nn

import train
from truth import Truth

truth = Truth("no_grad", expect=("no_grad",), wrong={"checkpointing": "no backward follows"})
truth.record()
layers = [m for _ in range(6) for m in (nn.Linear(2048, 2048), nn.ReLU())]
model = nn.Sequential(*layers, nn.Linear(2048, 100)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
train.keep(truth, model, optimizer)
for _ in range(3):
    truth.phase("data")
    x = torch.randn(4096, 2048).cuda()
    y = torch.randint(0, 100, (4096,)).cuda()
    truth.phase("forward")
    loss = nn.functional.cross_entropy(model(x), y)
    train.backward_and_step(truth, loss, optimizer)
    truth.step()
del loss
model.eval()
results = []
with torch.no_grad() if truth.change == "no_grad" else contextlib.nullcontext():
    for _ in range(4):
        truth.phase("data")
        x = torch.randn(4096, 2048).cuda()
        truth.phase("inference" if truth.change == "no_grad" else "forward")
        results.append(model(x))
truth.end()
