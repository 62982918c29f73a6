"""Weights in bfloat16, with copies in float32 that the optimizer updates."""

import torch

from parts import GPT, adam, remedied, states, weights
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
truth.record()
model = remedied(truth, GPT(width=1024, layers=8, heads=16).to(device="cuda", dtype=torch.bfloat16))
masters = [p.detach().clone().float().requires_grad_() for p in model.parameters()]
optimizer = adam(truth, masters, lr=1e-4)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: [p.grad for p in [*model.parameters(), *masters]])
truth.keep("optimizer", lambda: [*states(optimizer), *masters])
for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (8, 512)).cuda()
    targets = torch.randint(0, 8192, (8, 512)).cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    for master, p in zip(masters, model.parameters()):
        master.grad, p.grad = p.grad.float(), None
        truth.are("gradient", master.grad)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for master, p in zip(masters, model.parameters()):
            p.copy_(master)
    truth.step()
truth.end()
