"""Its parameter is a wrapper without memory of its own, as of a quantised tensor; each operation on it is counted."""

import collections

import torch
from torch.utils._pytree import tree_map
from training import Training, turns

used: collections.Counter = collections.Counter()


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=False)

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        used["repr"] += 1
        return "Wrapper"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        used[str(function)] += 1
        inner = tree_map(lambda x: x.inner if isinstance(x, Wrapper) else x, (args, kwargs or {}))
        return function(*inner[0], **inner[1])


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(Wrapper(torch.full((8,), 0.5)), requires_grad=False)

    def forward(self, x):
        return x * self.weight


training = Training()
training.model.insert(0, Scaled())
for _ in turns():
    loss = training.step()
print(sorted(used.items()), loss.item().hex())
