"""A language model trains, as most do: the reference of the others."""

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("optimizer_state", "checkpointing", "logits")
truth.record()
model = remedied(truth, GPT().cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
train.steps(truth, model, optimizer, 4, batch=16, length=512)
truth.end()
