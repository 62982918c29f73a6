"""A recording with Python's frames only, in bfloat16, with an evaluation after each epoch."""

import torch

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
model = remedied(truth, GPT(width=768, layers=8, heads=12).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
truth.record(stacks="python")


def batch():
    truth.phase("data")
    both = torch.randint(0, 8192, (8, 513))
    return both[:, :-1].to("cuda"), both[:, 1:].to("cuda")


for _ in range(2):
    for _ in range(3):
        tokens, targets = batch()
        truth.phase("forward")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens, targets)
        truth.phase("backward")
        loss.backward()
        truth.phase("step")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        truth.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for _ in range(2):
            tokens, targets = batch()
            truth.phase("inference")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                total += model(tokens, targets).item()
    model.train()
truth.end()
