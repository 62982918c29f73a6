"""A diffusion model trains; a second, averaged copy of its weights follows."""

import copy

import torch
import torch.nn.functional as F

from parts import adam, gradients, states, weights
from truth import Truth
from unet import UNet

truth = Truth("optimizer_state")
truth.record()
model = UNet().cuda()
average = copy.deepcopy(model).requires_grad_(False)
optimizer = adam(truth, model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: [*weights(model), *weights(average)])
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))
truth.phase("data")
schedule = torch.linspace(1, 0, 1000).cuda()
for _ in range(4):
    truth.phase("data")
    x = torch.randn(32, 3, 64, 64).cuda()
    t = torch.randint(0, 1000, (32,)).cuda()
    noise = torch.randn_like(x)
    keep = schedule[t][:, None, None, None]
    noised = keep.sqrt() * x + (1 - keep).sqrt() * noise
    time = t[:, None].float()
    truth.phase("forward")
    loss = F.mse_loss(model(noised, time), noise)
    truth.phase("backward")
    optimizer.zero_grad()
    loss.backward()
    truth.phase("step")
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.lerp_(p, 0.01)
    truth.step()
truth.end()
