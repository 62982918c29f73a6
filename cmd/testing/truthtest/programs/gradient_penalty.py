"""A critic with a penalty on its gradient, which is differentiated twice."""

import torch
from torch import nn

from parts import gradients, states, weights
from truth import BORN, Truth

BORN["graph of backward"] = ("activation", "backward-temporary")

truth = Truth("stale_gradients")
truth.record()
critic = nn.Sequential(
    nn.Conv2d(3, 64, 5, 2, 2),
    nn.LeakyReLU(0.2),
    nn.Conv2d(64, 128, 5, 2, 2),
    nn.LeakyReLU(0.2),
    nn.Conv2d(128, 256, 5, 2, 2),
    nn.LeakyReLU(0.2),
    nn.Conv2d(256, 512, 5, 2, 2),
    nn.LeakyReLU(0.2),
    nn.Flatten(),
    nn.Linear(512 * 16, 1),
).cuda()
gen = nn.Sequential(
    nn.Linear(128, 512 * 16),
    nn.Unflatten(1, (512, 4, 4)),
    *[
        m
        for a, b in ((512, 256), (256, 128), (128, 64))
        for m in (nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU())
    ],
    nn.ConvTranspose2d(64, 3, 4, 2, 1),
    nn.Tanh(),
).cuda()
both = [gen, critic]
opt_g, opt_c = (torch.optim.Adam(m.parameters(), lr=1e-4, betas=(0.0, 0.9)) for m in both)
truth.keep("parameter", lambda: [t for m in both for t in weights(m)])
truth.keep("gradient", lambda: [t for m in both for t in gradients(m)])
truth.keep("optimizer", lambda: [*states(opt_g), *states(opt_c)])


def gradient_penalty(real, fake):
    truth.phase("forward")
    alpha = torch.rand(real.size(0), 1, 1, 1, device=real.device)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    truth.are("activation/input", alpha, mixed)
    score = critic(mixed)
    ones = torch.ones_like(score)
    with truth.during("graph of backward"):  # a backward pass whose results have a graph: activations
        (g,) = torch.autograd.grad(score, mixed, grad_outputs=ones, create_graph=True, retain_graph=True)
    return ((g.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


B = 128
for _ in range(3):
    truth.phase("data")
    real, z = torch.randn(B, 3, 64, 64).cuda(), torch.randn(B, 128, device="cuda")
    truth.phase("inference")
    with torch.no_grad():
        fake = gen(z)
    truth.phase("forward")
    loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(real, fake)
    truth.phase("backward")
    opt_c.zero_grad()
    loss.backward()
    truth.phase("step")
    opt_c.step()
    truth.phase("data")
    z = torch.randn(B, 128, device="cuda")
    truth.phase("forward")
    loss = -critic(gen(z)).mean()
    truth.phase("backward")
    opt_g.zero_grad()
    loss.backward()
    truth.phase("step")
    opt_g.step()
    if truth.change == "stale_gradients":
        critic.zero_grad(), gen.zero_grad()
    truth.step()
truth.end()
