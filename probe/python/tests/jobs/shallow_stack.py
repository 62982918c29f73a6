"""Its recursion is limited to what it needs itself and a little more, and it counts how deep it can go."""

import collections
import sys

import torch
from training import Training, turns

depths = collections.Counter()


def depth():
    try:
        return 1 + depth()
    except RecursionError:
        return 1


class Deep(torch.nn.Module):
    def forward(self, x):
        depths["within", depth() > 40] += 1  # a level less where a module has a hook
        return x


training = Training()
training.model.append(Deep())
training.step()
depths.clear()
sys.setrecursionlimit(60)
for _ in turns():
    depths["outside", depth()] += 1
    loss = training.step()
print(sorted(depths.items(), key=str), loss.item().hex())
