"""A forward that stands in for a module's own.

It lies in the module's `__dict__`, where a call finds it before that of the class,
and taking it away leaves the module as it was. A copy or a pickle of the module
that is made meanwhile has its own plain forward there: the method of its class,
which needs no memtop to be read and is computed without what the stand-in adds.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..threads import touches

FORWARD = "forward"


class Standing:
    """Stands in for the forward of one module, which it does not hold."""

    def __init__(self, module: Any) -> None:
        self._module = weakref.ref(module)
        self._plain = type(module).forward

    @property
    def module(self) -> Any:
        """The module."""
        return self._module()

    @touches
    def put(self) -> None:
        """Begin to stand in."""
        self.module.__dict__[FORWARD] = self

    @touches
    def remove(self) -> None:
        """End. What the program has put in its place meanwhile stays."""
        module = self.module
        if module is not None and module.__dict__.get(FORWARD) is self:
            del module.__dict__[FORWARD]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Do as the module's own forward."""
        return self._plain(self.module, *arguments, **named)

    @property
    def __wrapped__(self) -> Any:
        """The module's own forward, whose signature and name are this one's too."""
        return self._plain.__get__(self.module)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the class's forward."""
        return getattr(type(self.module).forward, name)

    def __reduce__(self) -> Any:
        """Be copied and pickled as the method of the module's class. Its module's state comes after it, so the copy of
        the module finds no stand-in yet."""
        return getattr, (self.module, FORWARD)


@touches
def is_replaced(module: Any) -> bool:
    """Report whether a module's forward is not that of its class, by another's doing."""
    own = module.__dict__.get(FORWARD)
    return own is not None and not isinstance(own, Standing)
