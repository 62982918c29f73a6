"""It collects garbage by hand, between turns only, and counts collections, and its own objects in all generations."""

import collections
import gc

from training import Training, turns

training, collections_seen, counts = Training(), collections.Counter(), collections.Counter()


class Cycle:
    def __init__(self, loss):
        self.itself, self.loss = self, loss


gc.collect()
gc.freeze()
gc.disable()
gc.callbacks.append(lambda phase, info: collections_seen.update([(phase, info["generation"])]))
for turn in turns(30):
    for _ in range(3):
        Cycle(training.loss())
    counts[sum(type(one) is Cycle for one in gc.get_objects())] += 1
    training.step()
    gc.collect(turn % 3)
    counts[sum(type(one) is Cycle for one in gc.get_objects())] += 1
print(sorted(collections_seen.items()), sorted(counts.items()), gc.isenabled())
