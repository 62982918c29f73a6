"""Two networks train against each other, each with its optimizer."""

import torch
import torch.nn.functional as F
from torch import nn

from parts import gradients, states, weights
from truth import Truth

truth = Truth()
truth.record()


def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))


generator = nn.Sequential(
    nn.Sequential(nn.ConvTranspose2d(100, 512, 4, 1, 0), nn.ReLU()), up(512, 256), up(256, 128), up(128, 64),
    nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh(),
).cuda()  # fmt: skip
critic = nn.Sequential(
    nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), down(64, 128), down(128, 256), down(256, 512),
    nn.Conv2d(512, 1, 4, 1, 0), nn.Flatten(),
).cuda()  # fmt: skip
both = [generator, critic]
optimizers = [torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in both]
truth.keep("parameter", lambda: [t for m in both for t in weights(m)])
truth.keep("gradient", lambda: [t for m in both for t in gradients(m)])
truth.keep("optimizer", lambda: [t for o in optimizers for t in states(o)])
B = 256
for _ in range(4):
    truth.phase("data")
    real = torch.randn(B, 3, 64, 64).cuda()
    noise = torch.randn(B, 100, 1, 1, device="cuda")
    truth.phase("forward")
    fake = generator(noise)
    right = critic(real)
    loss = F.binary_cross_entropy_with_logits(right, torch.ones_like(right))
    truth.phase("backward")
    critic.zero_grad()
    loss.backward()
    truth.phase("forward")
    judged = critic(fake.detach())
    loss = F.binary_cross_entropy_with_logits(judged, torch.zeros_like(judged))
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizers[1].step()
    truth.phase("forward")
    generator.zero_grad()
    judged = critic(fake)
    loss = F.binary_cross_entropy_with_logits(judged, torch.ones_like(judged))
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizers[0].step()
    truth.step()
truth.end()
