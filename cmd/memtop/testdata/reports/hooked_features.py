"""Hooks collect what layers make while the model is in training mode, and nothing empties the list."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv


class Collector:
    def __init__(self, model):
        self.made = []
        for layer in model:
            layer.register_forward_hook(self.collect)

    def collect(self, module, given, made):
        if module.training:
            self.made.append(made.detach())


model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(6)]).cuda()
collector = Collector(model)
model.train(not fix)
for _ in range(24):
    with torch.no_grad():
        best = model(torch.randn(2048, 1024, device="cuda")).argmax(1)
print(torch.cuda.max_memory_allocated())
