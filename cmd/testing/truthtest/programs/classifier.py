"""Images are classified by convolutions, and an evaluation under no_grad follows each epoch."""

import torch
import torch.nn.functional as F
from torch import nn

import train
from truth import Truth

truth = Truth()
truth.record()


def layer(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
        nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2),
    )  # fmt: skip


model = nn.Sequential(
    layer(3, 64), layer(64, 128), layer(128, 256), nn.Flatten(), nn.Linear(256 * 64, 1024), nn.ReLU(),
    nn.Dropout(0.5), nn.Linear(1024, 10),
).cuda()  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
train.keep(truth, model, optimizer)


@torch.no_grad()
def evaluate():
    model.eval()
    right = 0
    for _ in range(2):
        truth.phase("data")
        x, y = torch.randn(64, 3, 64, 64).cuda(), torch.randint(0, 10, (64,)).cuda()
        truth.phase("inference")
        right += (model(x).argmax(1) == y).sum().item()
    model.train()
    return right


for _ in range(2):
    for _ in range(3):
        truth.phase("data")
        x, y = torch.randn(64, 3, 64, 64), torch.randint(0, 10, (64,))
        x, y = x.to("cuda"), y.to("cuda")
        truth.phase("forward")
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        truth.phase("backward")
        loss.backward()
        truth.phase("step")
        optimizer.step()
        truth.step()
    evaluate()
truth.end()
