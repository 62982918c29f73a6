"""It works in place where it is the only owner: it reads reference counts, and resizes an array and a bytearray."""

import collections
import sys

import numpy
import torch
from training import Training, turns

training, counts, refused = Training(), collections.Counter(), collections.Counter()
own = [training, training.model, training.optimizer, training.model[0], *training.model.parameters()]
array, buffer = numpy.zeros(8), bytearray(64)
for turn in turns():
    loss = training.step()
    kept = [loss, torch.zeros(4), {"one": 1}]
    counts.update((place, sys.getrefcount(one)) for place, one in enumerate([*own, *kept]))
    counts[len(own) + len(kept), sys.getrefcount(training.model[0].weight.grad)] += 1
    try:
        array.resize(8 + turn % 9)
        buffer.append(turn % 256)
        torch.frombuffer(buffer, dtype=torch.uint8).sum()
        del buffer[-1]
    except (ValueError, BufferError) as error:
        refused[type(error).__name__] += 1
print(sorted(counts.items()), dict(refused))
