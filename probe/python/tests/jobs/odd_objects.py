"""It holds objects that end it when they are compared, measured, printed, called or asked for an attribute or class."""

import sys

import torch
from training import Training, turns


class Pretends(type):
    """A class that ends the program when it is asked about its instances."""

    def __instancecheck__(cls, one):
        sys.exit("its metaclass was asked")

    __subclasscheck__ = __instancecheck__


class Odd(metaclass=Pretends):
    def _used(self, *_):
        sys.exit("it was used")

    __len__ = __iter__ = __eq__ = __hash__ = __bool__ = __repr__ = __call__ = __contains__ = __fspath__ = _used
    __getattribute__ = __getitem__ = __dir__ = __index__ = __enter__ = _used
    __class__ = property(_used)


class Proxy(torch.nn.Module):
    """A module whose attributes are computed, and one of whose properties is a tensor."""

    def __init__(self):
        super().__init__()
        self.layer, self.odd, self.table = torch.nn.Linear(8, 8), Odd(), {"odd": Odd(), "tensor": torch.zeros(3)}

    def __getattr__(self, name):
        if name not in ("layer",):
            asked.add(name)
        return super().__getattr__(name)

    @property
    def costly(self):
        sys.exit("a property was read")

    def forward(self, x):
        return self.layer(x)


asked: set = set()
training = Training()
training.model.insert(0, Proxy())
local = [Odd(), (Odd(),), {"one": Odd()}]
asked.clear()
for _ in turns():
    loss = training.step()
print(sorted(asked), len(local), loss.item().hex())
