"""Batches of more and more tokens: the segments of each are too small for the next, unless they can grow."""

import torch
from torch import nn

from parts import weights
from truth import Truth

truth = Truth(
    "expandable_segments",
    expect=("expandable_segments",),
    wrong={"checkpointing": "there is no backward", "no_grad": "it is on already", "empty_cache": "nobody calls it"},
)
truth.record()
model = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048))])
model = model.cuda().eval()
truth.keep("parameter", lambda: weights(model))
with torch.no_grad():
    for turn in range(24):
        truth.phase("data")
        x = torch.randn(1024 + 640 * turn, 2048).cuda()
        truth.phase("inference")
        best = model(x).argmax(1).tolist()
        del x
        truth.step()
truth.end()
