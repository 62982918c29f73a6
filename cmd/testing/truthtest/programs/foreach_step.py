"""A wide model and a small batch: the peak is in the optimizer's step."""

import torch
import torch.nn.functional as F
from torch import nn

import train
from parts import adam
from truth import Truth

truth = Truth("foreach_temporaries", "optimizer_state", expect=("foreach_temporaries",))
truth.record()
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(12)]).cuda()
optimizer = adam(truth, model.parameters(), fused=truth.change == "foreach_temporaries" or None)
train.keep(truth, model, optimizer)
for _ in range(3):
    truth.phase("data")
    x = torch.randn(64, 2048).cuda()
    truth.phase("forward")
    loss = F.mse_loss(model(x), x)
    train.backward_and_step(truth, loss, optimizer)
    truth.step()
truth.end()
