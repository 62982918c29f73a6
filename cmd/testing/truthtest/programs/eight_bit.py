"""Adam that keeps its moments in 8 bits, with a scale for each 256 values."""

import torch

from parts import GPT, gradients, remedied, weights
from truth import Truth

truth = Truth("checkpointing", "logits", wrong={"optimizer_state": "the state is in 8 bits already"})
truth.record()


class Adam8bit(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4):
        super().__init__(params, {"lr": lr})

    def quantize(self, x):
        pad = torch.nn.functional.pad(x.flatten(), (0, -x.numel() % 256)).view(-1, 256)
        scale = pad.abs().amax(1, keepdim=True).clamp_(min=1e-12)
        return (pad / scale * 127).to(torch.int8), scale

    def dequantize(self, state, name, like):
        values, scale = state[name]
        return (values.float() * (scale / 127)).flatten()[: like.numel()].view_as(like)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = self.quantize(torch.zeros_like(p))
                    state["v"] = self.quantize(torch.zeros_like(p))
                m = self.dequantize(state, "m", p).mul_(0.9).add_(p.grad, alpha=0.1)
                v = self.dequantize(state, "v", p).mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(m, v.sqrt().add_(1e-8), value=-group["lr"])
                state["m"], state["v"] = self.quantize(m), self.quantize(v)


model = remedied(truth, GPT(width=1024, layers=8, heads=16, words=16384).cuda())
optimizer = Adam8bit(model.parameters())
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: [t for s in optimizer.state.values() for pair in s.values() for t in pair])


for _ in range(4):
    truth.phase("data")
    batch = torch.randint(0, 16384, (4, 513))
    tokens, targets = batch[:, :-1].cuda(), batch[:, 1:].cuda()
    truth.phase("forward")
    loss = model(tokens, targets)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    truth.step()
truth.end()
