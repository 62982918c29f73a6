"""A model whose first step does not fit: the state is made when gradients are there already."""

import train
from parts import GPT, adam, remedied, smaller
from truth import Truth

truth = Truth("batch", "checkpointing", "optimizer_state", "logits")
truth.record()
model = remedied(truth, GPT(width=2048, layers=20, heads=16).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
batch = smaller(truth, 2)
with truth.until_memory_runs_out():
    train.steps(truth, model, optimizer, 3, batch=batch, length=512)
truth.end()
