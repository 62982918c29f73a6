"""A model whose first step does not fit: the state is made when gradients are there already."""

import torch

from parts import GPT, adam, gradients, remedied, smaller, states, weights
from truth import Truth

truth = Truth("batch", "checkpointing", "optimizer_state", "logits")
truth.record()
model = remedied(truth, GPT(width=2048, layers=20, heads=16).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))
batch = smaller(truth, 2)
with truth.until_memory_runs_out():
    for _ in range(3):
        truth.phase("data")
        tokens = torch.randint(0, 8192, (batch, 512)).cuda()
        targets = torch.randint(0, 8192, (batch, 512)).cuda()
        truth.phase("forward")
        loss = model(tokens, targets)
        truth.phase("backward")
        loss.backward()
        truth.phase("step")
        optimizer.step()
        optimizer.zero_grad()
        truth.step()
truth.end()
