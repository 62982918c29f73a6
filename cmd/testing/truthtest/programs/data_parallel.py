"""One process, two devices: nn.DataParallel copies the model to each in every forward."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import train
from parts import adam, again
from truth import Truth

truth = Truth(
    "checkpointing", "optimizer_state", devices=2, wrong={"weight_copies": "replicas are no half-precision copies"}
)
truth.record()
checkpointing = truth.change == "checkpointing"


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        truth.are("parameter", self.up.weight, self.up.bias, self.down.weight, self.down.bias)
        return x + self.down(F.gelu(self.up(x)))


class Model(nn.Module):
    def __init__(self, width=1024, layers=8):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        truth.are("input", x)
        truth.are("parameter", self.head.weight, self.head.bias)
        for layer in self.layers:
            x = checkpoint(again, truth, layer, x, use_reentrant=False) if checkpointing else layer(x)
        return self.head(x)


model = nn.DataParallel(Model().cuda(), device_ids=[0, 1])
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
for _ in range(4):
    truth.phase("data")
    x = torch.randn(8192, 1024).cuda()
    y = torch.randint(0, 1000, (8192,)).cuda()
    truth.phase("forward")
    loss = F.cross_entropy(model(x), y)
    train.backward_and_step(truth, loss, optimizer)
    truth.step()
truth.end()
