"""Its objects train and take note when they are deleted, which must be at once and in order."""

import hashlib

from training import Training, turns

training, second, order = Training(), Training(seed=2), hashlib.sha256()


class Last:
    def __init__(self, name, tensor):
        self.name, self.tensor = name, tensor

    def __del__(self):
        order.update(f"{self.name} {second.step().item().hex()};".encode())


for turn in turns():
    held = [Last(f"{turn} {place}", training.loss()) for place in range(2)]
    training.step()
    held.pop(0)
    order.update(b"popped;")
    held[0].itself = held[0].tensor
    del held
    order.update(b"deleted;")
print(order.hexdigest())
