"""zero_grad(set_to_none=False), as in old code: gradients stay through the next forward."""

import torch
import torch.nn.functional as F
from torch import nn

from parts import gradients, weights
from truth import Truth

truth = Truth("stale_gradients", "optimizer_state", expect=("stale_gradients",))
truth.record()
model = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(4096, 4096), nn.Tanh())]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
for _ in range(4):
    truth.phase("data")
    x = torch.randn(8192, 4096).cuda()
    truth.phase("forward")
    optimizer.zero_grad(set_to_none=truth.change == "stale_gradients")
    loss = F.mse_loss(model(x), x)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    truth.step()
truth.end()
