"""Its hooks pack and unpack what backward needs, and it checkpoints a layer; all calls are counted."""

import collections
import warnings

import torch
from torch.utils.checkpoint import checkpoint
from training import Training, turns

warnings.simplefilter("ignore")
training, counts = Training(depth=4), collections.Counter()


class Counted(torch.nn.Module):
    def forward(self, x):
        counts["forward"] += 1
        return x * 2


def packed(tensor):
    counts["packed"] += 1
    return tensor.to(torch.float64)


def unpacked(tensor):
    counts["unpacked"] += 1
    return tensor.to(torch.float32)


model, counted = training.model, Counted()
for _ in turns():
    with torch.autograd.graph.saved_tensors_hooks(packed, unpacked):
        middle = model[1](model[0](training.input()))
    with torch.autograd.graph.save_on_cpu():
        middle = model[2](middle)
    loss = model[4](checkpoint(lambda x: model[3](counted(x)), middle, use_reentrant=False)).pow(2).mean()
    training.optimizer.zero_grad()
    loss.backward()
    training.optimizer.step()
print(sorted(counts.items()), loss.item().hex())
