"""A history without stacks: sizes and lives are all that there is."""

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
truth.record(context=None)
model = remedied(truth, GPT(width=768, layers=8, heads=12).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
train.steps(truth, model, optimizer, 5, batch=8, length=512)
truth.end()
