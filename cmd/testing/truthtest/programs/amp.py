"""Mixed precision: autocast to float16, and a scaler of gradients."""

import torch

from parts import GPT, adam, gradients, remedied, states, weights
from truth import Truth

truth = Truth(
    "optimizer_state", "checkpointing", "logits", wrong={"weight_copies": "copies in float32 would take what is saved"}
)
truth.record()
model = remedied(truth, GPT(width=1024, layers=8, heads=16).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4, fused=True)
scaler = torch.amp.GradScaler("cuda")
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: [*states(optimizer), *scales(scaler)])


def scales(scaler):
    return [getattr(scaler, name, None) for name in ("_scale", "_growth_tracker")]


for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, 8192, (8, 512)).cuda(non_blocking=True)
    targets = torch.randint(0, 8192, (8, 512)).cuda(non_blocking=True)
    truth.phase("forward")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(tokens, targets)
    scaled = scaler.scale(loss)
    truth.phase("backward")
    scaled.backward()
    truth.phase("step")
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    truth.step()
truth.end()
