"""Images are classified under inference_mode."""

import torch
from torch import nn

from parts import weights
from truth import Truth

truth = Truth(wrong={"checkpointing": "there is no backward", "no_grad": "it is on already"})
truth.record()
sizes = ((3, 64), (64, 128))
layers = [m for i, o in sizes for m in (nn.Conv2d(i, o, 3, padding=1), nn.ReLU())]
model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 1000)).cuda().eval()
truth.keep("parameter", lambda: weights(model))
with torch.inference_mode():
    for _ in range(4):
        truth.phase("data")
        x = torch.randn(16, 3, 224, 224).cuda()
        truth.phase("inference")
        result = model(x)
        truth.step()
truth.end()
