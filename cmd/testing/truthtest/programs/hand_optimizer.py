"""A course's AdamW: state by zeros_like in the step, and weights that are replaced rather than updated."""

import torch

from parts import GPT, Adam8bit, gradients, remedied, weights
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
truth.record()


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, {"lr": lr})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                g = p.grad.data
                t = state.get("t", 1)
                m = state.get("m", torch.zeros_like(p))
                v = state.get("v", torch.zeros_like(p))
                m = 0.9 * m + 0.1 * g
                v = 0.999 * v + 0.001 * g**2
                p.data = p.data - group["lr"] * m / (torch.sqrt(v) + 1e-8)
                p.data = p.data - group["lr"] * 0.01 * p.data
                state["m"], state["v"], state["t"] = m, v, t + 1


model = remedied(truth, GPT(width=768, layers=6, heads=12).cuda())
kind = Adam8bit if truth.change == "optimizer_state" else AdamW
optimizer = kind(model.parameters())
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: [t for s in optimizer.state.values() for t in s.values()])
for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (4, 512)).cuda()
    targets = torch.randint(0, 8192, (4, 512)).cuda()
    truth.phase("forward")
    optimizer.zero_grad()
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    truth.step()
truth.end()
