"""Inference under autocast: half-precision copies of all weights stay until it ends."""

import torch

from parts import GPT, weights
from truth import Truth

truth = Truth("weight_copies", "stale_results", expect=("weight_copies",), wrong={"no_grad": "it is on already"})
truth.record()
model = GPT(width=1024, layers=8, heads=16).eval()
model = model.to("cuda", torch.bfloat16 if truth.change == "weight_copies" else None)
truth.keep("parameter", lambda: weights(model))
for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (2, 512)).cuda()
    truth.phase("inference")
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16, enabled=truth.change != "weight_copies"):
        logits = model(tokens)
    if truth.change == "stale_results":
        del logits
    truth.step()
truth.end()
