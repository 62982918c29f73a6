"""The state of a recurrent network is carried to the next batch with its graph, which retain_graph keeps."""

import sys

import torch
from torch import nn

fix = "fix" in sys.argv


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.i, self.h = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, state):
        for part in x.unbind(1):
            state = torch.tanh(self.i(part) + self.h(state))
        return state


model = Cell(512).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
state = torch.zeros(512, 512, device="cuda")
for _ in range(16):
    state = model(torch.randn(512, 8, 512, device="cuda"), state.detach() if fix else state)
    state.square().mean().backward(retain_graph=not fix)
    for p in model.parameters():
        p.grad = None
print(torch.cuda.max_memory_allocated())
