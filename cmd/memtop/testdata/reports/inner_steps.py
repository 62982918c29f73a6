"""Meta learning: gradients go through eight inner steps, whose graphs and weights are all kept until the outer step."""

import sys

import torch
from torch import nn
from torch.func import functional_call

fix = "fix" in sys.argv
model = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 2048), nn.Tanh(), nn.Linear(2048, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    weights = dict(model.named_parameters())
    for _ in range(8):
        loss = functional_call(model, weights, torch.randn(512, 512, device="cuda")).square().mean()
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=not fix)
        weights = {name: w - 0.01 * g for (name, w), g in zip(weights.items(), grads)}
    functional_call(model, weights, torch.randn(512, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated())
