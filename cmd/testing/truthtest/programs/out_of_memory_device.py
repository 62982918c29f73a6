"""The first of two devices gets most of a model that is split by hand, and dies in its first forward pass."""

import torch
from torch import nn

import train
from parts import Block, adam
from truth import Truth

truth = Truth(devices=2, expect=("uneven_devices",))
truth.record()


class Split(nn.Module):
    def __init__(self, layers=16, width=1024):
        super().__init__()
        self.layers = nn.ModuleList(Block(width, 16).to(self.place(i)) for i in range(layers))

    def place(self, layer):
        return torch.device("cuda", int(layer >= 12))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x.to(self.place(i)))
        return x


model = Split()
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
with truth.until_memory_runs_out():
    truth.phase("data")
    x = torch.empty(128, 512, 1024).cuda()
    truth.phase("forward")
    loss = model(x).square().mean()
truth.end()
