"""Training of a model that torch.compile has compiled, by Triton if it is there."""

from __future__ import annotations

import importlib.util

import torch
from training import train

BACKEND = "inductor" if importlib.util.find_spec("triton") else "aot_eager"
train(torch.device("cuda"), lambda model: torch.compile(model, backend=BACKEND))
