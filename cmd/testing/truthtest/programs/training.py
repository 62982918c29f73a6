"""A language model trains, as most do: the reference of the others."""

import torch
from parts import GPT, gradients, pieces, states, weights
from torch.utils.checkpoint import checkpoint
from truth import Truth

truth = Truth("checkpointing", "logits")
truth.record()
model = GPT().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))


def again(block, x):
    with truth.during("forward"):
        return block(x)


if truth.change == "checkpointing":
    model.call = lambda block, x: checkpoint(again, block, x, use_reentrant=False)
if truth.change == "logits":
    model.loss = lambda x, targets: pieces(model, x, targets)

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
