"""A small model that trains on a GPU, and a list that keeps a tensor of each step. A line for each step."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.narrow(nn.functional.gelu(self.wide(x)))


model = nn.Sequential(*[Block(256) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
kept = []
step = 0
while True:
    model(torch.randn(64, 128, 256, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.empty(1 << 18, device="cuda"))
    step += 1
    print("step", step, flush=True)
