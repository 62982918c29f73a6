"""A course's benchmark of the forward pass: nobody wrote no_grad, and no backward follows."""

import contextlib

import torch

from parts import GPT, weights
from truth import Truth

truth = Truth(
    "no_grad",
    expect=("no_grad",),
    wrong={"checkpointing": "there is no backward", "stale_results": "all is held by graphs"},
)
model = GPT(width=768, layers=12, heads=12).cuda()
truth.keep("parameter", lambda: weights(model))
tokens = torch.randint(0, 8192, (8, 512), device="cuda")
truth.keep("input", lambda: [tokens])
truth.record()
truth.phase("inference" if truth.change == "no_grad" else "forward")
with torch.no_grad() if truth.change == "no_grad" else contextlib.nullcontext():
    for _ in range(3):
        logits = model(tokens)
        truth.step()
truth.end()
