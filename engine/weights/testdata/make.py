#!/usr/bin/env python3
"""Writes the .pt files of the tests of package weights with PyTorch.

    python3 make.py        (PyTorch 1.6 or later; 2.15 wrote those that are kept)
"""
import collections
import torch

torch.manual_seed(0)
count = torch.arange(24, dtype=torch.float32)

# What torch.save(model.state_dict()) gives, with the attribute _metadata.
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
with torch.no_grad():
    model[0].weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]]))
    model[0].bias.copy_(torch.tensor([7.0, 8.0]))
torch.save(model.state_dict(), "state_dict.pt")

# Every type of element, and views: a transpose, a slice, a shared storage.
torch.save(
    {
        "bfloat16": count.to(torch.bfloat16),
        "float16": count.to(torch.float16) / 8,
        "float64": count.double() / 3,
        "int64": torch.arange(-2, 3),
        "transposed": count.reshape(4, 6).t(),
        "slice": count.reshape(4, 6)[1:3, 2:5],
        "scalar": torch.tensor(0.5),
        "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 3),
    },
    "views.pt",
)

# A training script's checkpoint: the weights are one of several entries.
torch.save(
    collections.OrderedDict(step=12, model=collections.OrderedDict(a=torch.ones(2)), args={"lr": 1e-3, "name": "x"}),
    "nested.pt",
)

# Not plain weights: an object of a class.
torch.save(torch.nn.Linear(2, 2), "module.pt")
torch.save({"a": torch.ones(2)}, "old.pt", _use_new_zipfile_serialization=False)
