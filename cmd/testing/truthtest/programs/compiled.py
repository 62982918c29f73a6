"""A compiled model trains: forward and backward are one function each."""

import torch

from parts import GPT, adam, gradients, remedied, states, weights
from truth import Truth

truth = Truth("logits", "optimizer_state")
truth.record()
plain = remedied(truth, GPT(width=512, layers=6, heads=8).cuda())
model = torch.compile(plain, backend="aot_eager")
optimizer = adam(truth, plain.parameters(), lr=1e-4)
truth.keep("parameter", lambda: weights(plain))
truth.keep("gradient", lambda: gradients(plain))
truth.keep("optimizer", lambda: states(optimizer))
for _ in range(4):
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
