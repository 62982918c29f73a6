"""Attention by hand keeps all of its scores."""

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("attention_scores", "checkpointing", "optimizer_state", "logits", expect=("attention_scores",))
truth.record()
fused = truth.change == "attention_scores"
model = remedied(truth, GPT(width=512, layers=6, heads=8, length=1024, fused=fused).cuda())
optimizer = adam(truth, model.parameters(), lr=1e-4)
train.keep(truth, model, optimizer)
train.steps(truth, model, optimizer, 4, batch=6, length=1024)
truth.end()
