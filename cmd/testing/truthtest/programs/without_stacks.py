"""A history without stacks: sizes and lives are all that there is."""

import torch

from parts import GPT, adam, gradients, remedied, states, weights
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
truth.record(context=None)
model = remedied(truth, GPT(width=768, layers=8, heads=12).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))
for _ in range(5):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (8, 512)).cuda()
    targets = torch.randint(0, 8192, (8, 512)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()
    truth.step()
truth.end()
