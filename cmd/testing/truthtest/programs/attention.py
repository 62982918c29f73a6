"""Attention by hand keeps all of its scores."""

import torch

from parts import GPT, adam, gradients, remedied, states, weights
from truth import Truth

truth = Truth("attention_scores", "checkpointing", "optimizer_state", "logits", expect=("attention_scores",))
truth.record()
fused = truth.change == "attention_scores"
model = remedied(truth, GPT(width=512, layers=6, heads=8, length=1024, fused=fused).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))
for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (6, 1024)).cuda()
    targets = torch.randint(0, 8192, (6, 1024)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()
    truth.step()
truth.end()
