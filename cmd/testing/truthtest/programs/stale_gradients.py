"""zero_grad(set_to_none=False), as in old code: gradients stay through the next forward."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from parts import again, gradients, weights
from truth import Truth

truth = Truth("stale_gradients", "checkpointing", expect=("stale_gradients",))
truth.record()
model = nn.Sequential(*[nn.Sequential(nn.Linear(4096, 4096), nn.Tanh()) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
checkpointing = truth.change == "checkpointing"


def forward(x):
    for layer in model:
        x = checkpoint(again, truth, layer, x, use_reentrant=False) if checkpointing else layer(x)
    return x


for _ in range(4):
    truth.phase("data")
    x = torch.randn(8192, 4096).cuda()
    truth.phase("forward")
    optimizer.zero_grad(set_to_none=truth.change == "stale_gradients")
    loss = F.mse_loss(forward(x), x)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    truth.step()
truth.end()
