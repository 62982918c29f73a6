"""It allows no module to be imported once it has begun, as a sandbox does, and counts what was asked for."""

import sys

from training import Training, turns

training, asked = Training(), set()
training.step()


class Frozen:
    @staticmethod
    def find_spec(name, path=None, target=None):
        asked.add(name)
        raise ImportError(f"{name} is not allowed")


import json  # noqa: E402

sys.meta_path[:] = [Frozen]
sys.path.clear()
for _ in turns():
    loss = training.step()
print(sorted(asked), len(sys.meta_path), sys.path, json.dumps(1), loss.item().hex())
