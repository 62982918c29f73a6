"""empty_cache in every turn of a loop gives back what the next turn takes again."""

import torch
from torch import nn

from parts import weights
from truth import Truth

truth = Truth(wrong={"checkpointing": "there is no backward", "no_grad": "it is on already"})
truth.record()
model = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(4096, 4096), nn.ReLU())]).cuda().eval()
truth.keep("parameter", lambda: weights(model))
with torch.no_grad():
    for _ in range(30):
        truth.phase("data")
        x = torch.randn(8192, 4096).cuda()
        truth.phase("inference")
        y = model(x)
        best = y.argmax(1).tolist()
        del x, y
        torch.cuda.empty_cache()
        truth.step()
truth.end()
