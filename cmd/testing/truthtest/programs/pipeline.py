"""A model that is split by hand over two devices, most of its layers on the first."""

import torch
from torch import nn

import train
from truth import Truth

truth = Truth("uneven_devices", devices=2, expect=("uneven_devices",))
truth.record()
first = 6 if truth.change == "uneven_devices" else 9


class Layer(nn.Module):
    def __init__(self, width=2048):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


class Split(nn.Module):
    def __init__(self, layers=12):
        super().__init__()
        self.layers = nn.ModuleList(Layer().to(self.place(i)) for i in range(layers))

    def place(self, layer):
        return torch.device("cuda", int(layer >= first))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x.to(self.place(i)))
        return x


model = Split()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
for _ in range(4):
    truth.phase("data")
    x = torch.randn(64, 2048).cuda()
    truth.phase("forward")
    loss = model(x).square().mean()
    train.backward_and_step(truth, loss, optimizer)
    truth.step()
truth.end()
