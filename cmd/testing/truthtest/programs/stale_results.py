"""What an encoder made in a step is compared with what it makes in the next, and so is kept until then."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import train
from parts import adam, again
from truth import Truth

truth = Truth("stale_results", "checkpointing", "optimizer_state", expect=("stale_results",))
truth.record()
model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(6)]).cuda()
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
checkpointing = truth.change == "checkpointing"


def encode(x):
    layers = []
    for layer in model:
        x = checkpoint(again, truth, layer, x, use_reentrant=False) if checkpointing else layer(x)
        layers.append(x)
    return layers


before = None
for _ in range(6):
    truth.phase("data")
    x = torch.randn(16384, 1024).cuda()
    truth.phase("forward")
    made = encode(x)
    loss = F.mse_loss(made[-1], x)
    train.backward_and_step(truth, loss, optimizer)
    drift = 0.0 if before is None else (made[0][0] - before[0][0]).abs().mean().item()
    before = made
    if truth.change == "stale_results":
        before = [t[:1].detach().clone() for t in made]
        del made
    truth.step()
truth.end()
