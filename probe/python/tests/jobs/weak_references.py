"""With the collector off it counts what lives after a step by weak references with callbacks."""

import collections
import gc
import weakref

from training import Training, turns

gc.disable()
training, dead, late = Training(), [], collections.Counter()
table = weakref.WeakKeyDictionary()
for turn in turns():
    loss = training.loss()
    activation = training.model[0](training.input())
    table[training.model[0]] = turn
    references = [weakref.ref(one, dead.append) for one in (loss, activation, activation.untyped_storage())]
    training.optimizer.zero_grad()
    loss.backward()
    training.optimizer.step()
    references.append(weakref.ref(next(training.model.parameters()).grad, dead.append))
    training.optimizer.zero_grad()
    del loss, activation
    late[sum(one() is not None for one in references)] += 1
print(len(dead), len(table), dict(late))
