"""Each layer is checkpointed already: backward runs its forward again."""

import torch
from torch.utils.checkpoint import checkpoint

from parts import GPT, adam, again, gradients, remedied, states, weights
from truth import Truth

truth = Truth("optimizer_state", "logits", wrong={"checkpointing": "it is on already"})
truth.record()
model = remedied(truth, GPT(layers=12).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))


model.call = lambda block, x: checkpoint(again, truth, block, x, use_reentrant=True)
for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (16, 512)).cuda()
    targets = torch.randint(0, 8192, (16, 512)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    truth.step()
truth.end()
