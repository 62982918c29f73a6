"""It empties the table of modules between turns, but for a few, and puts another torch there."""

import sys
import types

from training import Training, turns

training = Training()
training.step()
modules = dict(sys.modules)
for turn in turns():
    for name in list(sys.modules):
        if name.startswith(("torch.", "json", "socket", "threading", "collections")):
            del sys.modules[name]
    sys.modules["torch"] = types.ModuleType("torch")
    if turn % 10 == 9:
        sys.modules.update(modules)
    training.step()
sys.modules.update(modules)
print(training.step().item().hex())
