"""The logits of a step are still named while the next forward makes them again."""

import torch
import torch.nn.functional as F

from parts import GPT, adam, gradients, states, weights
from truth import Truth

truth = Truth("stale_results", "optimizer_state", expect=("stale_results",))
truth.record()
model = GPT(width=256, layers=4, heads=4, words=32768).cuda()
optimizer = adam(truth, model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))
for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 32768, (8, 512)).cuda()
    truth.phase("forward")
    logits = model(tokens)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, 32768), tokens[:, 1:].reshape(-1))
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()
    if truth.change == "stale_results":
        del logits, loss
    truth.step()
truth.end()
