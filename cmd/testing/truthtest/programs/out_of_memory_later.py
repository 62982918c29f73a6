"""Sequences grow; the third step no longer fits."""

import train
from parts import GPT, adam, remedied, smaller
from truth import Truth

truth = Truth("batch", "checkpointing", "optimizer_state", "logits")
truth.record()
model = remedied(truth, GPT(width=1024, layers=12, heads=16, length=1024).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
batch = smaller(truth, 32)
with truth.until_memory_runs_out():
    for length in (256, 512, 1024):
        train.steps(truth, model, optimizer, 1, batch=batch, length=length)
truth.end()
