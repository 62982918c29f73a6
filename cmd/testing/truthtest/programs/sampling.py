"""A diffusion model samples, and nobody wrote no_grad: the graphs of all steps hang on the sample."""

import contextlib

import torch

from parts import weights
from truth import Truth
from unet import UNet

truth = Truth("no_grad", expect=("no_grad",), wrong={"checkpointing": "there is no backward"})
truth.record()
model = UNet(width=64).cuda().eval()
truth.keep("parameter", lambda: weights(model))


def sample(x):
    for i in reversed(range(8)):
        t = torch.full((x.shape[0], 1), float(i), device=x.device)
        x = x - 0.1 * model(x, t)
        truth.step()
    return x


truth.phase("data")
noise = torch.randn(8, 3, 64, 64, device="cuda")
truth.phase("inference" if truth.change == "no_grad" else "forward")
with torch.no_grad() if truth.change == "no_grad" else contextlib.nullcontext():
    image = sample(noise)
truth.end()
