"""Only the head of a frozen network trains; its features are made under no_grad."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from parts import gradients, states, weights
from truth import Truth

truth = Truth("logits", wrong={"checkpointing": "the frozen network has no graph"})
truth.record()
layers = [m for _ in range(10) for m in (nn.Linear(2048, 2048), nn.LayerNorm(2048), nn.GELU())]
body = nn.Sequential(*layers).cuda().requires_grad_(False)
head = nn.Linear(2048, 20000).cuda()
optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
truth.keep("parameter", lambda: [*weights(body), *weights(head)])
truth.keep("gradient", lambda: gradients(head))
truth.keep("optimizer", lambda: states(optimizer))


def judge(features, y):
    return F.cross_entropy(head(features), y)


for _ in range(4):
    truth.phase("data")
    x = torch.randn(4096, 2048).cuda()
    y = torch.randint(0, 20000, (4096,)).cuda()
    truth.phase("inference")
    with torch.no_grad():
        features = body(x)
    truth.are("inference/activation", features)  # without a graph, and saved for the head's
    truth.phase("forward")
    if truth.change == "logits":
        loss = sum(checkpoint(judge, *part, use_reentrant=False) for part in zip(features.chunk(8), y.chunk(8))) / 8
    else:
        loss = judge(features, y)
    truth.phase("backward")
    optimizer.zero_grad()
    loss.backward()
    truth.phase("step")
    optimizer.step()
    truth.step()
truth.end()
