"""Its inputs, activations and a buffer are of a subclass whose __torch_function__ counts each use."""

import collections

import torch
from training import Training, turns

used: collections.Counter = collections.Counter()


class Counted(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        used[getattr(function, "__name__", str(function))] += 1
        return super().__torch_function__(function, types, args, kwargs or {})


training = Training()
training.model.register_buffer("mean", torch.zeros(8).as_subclass(Counted))
held = []
for turn in turns():
    inputs = training.input().as_subclass(Counted)
    held = [inputs, {"activation": training.model(inputs)}]
    training.optimizer.zero_grad()
    held[1]["activation"].pow(2).mean().backward()
    training.optimizer.step()
    training.model.mean.add_(turn)
print(sorted(used.items()))
