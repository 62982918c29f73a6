"""Two models take turns on the device: a model moves to the host and back, with its gradients."""

import torch
import torch.nn.functional as F
from torch import nn

from parts import gradients, weights
from truth import Truth

truth = Truth()
truth.record()
models = [nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(12)]) for _ in range(2)]
truth.keep("parameter", lambda: [t for m in models for t in weights(m)])
truth.keep("gradient", lambda: [t for m in models for t in gradients(m)])
optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in models]
for _ in range(3):
    for model, optimizer in zip(models, optimizers):
        truth.phase("build")
        model.to("cuda")
        for _ in range(2):  # accumulated
            truth.phase("data")
            x = torch.randn(512, 2048).to("cuda")
            truth.phase("forward")
            loss = F.mse_loss(model(x), x)
            truth.phase("backward")
            loss.backward()
        truth.phase("step")
        optimizer.step()
        truth.step()
        truth.phase("build")
        del loss
        model.to("cpu")
truth.end()
