"""A compiled model trains: forward and backward are one function each."""

import torch

import train
from parts import GPT, adam, remedied
from truth import Truth

truth = Truth("logits", "optimizer_state")
truth.record()
plain = remedied(truth, GPT(width=512, layers=6, heads=8).cuda())
model = torch.compile(plain, backend="aot_eager")
optimizer = adam(truth, plain.parameters(), lr=1e-4)
train.keep(truth, plain, optimizer)
train.steps(truth, model, optimizer, 4, batch=8, length=512)
truth.end()
