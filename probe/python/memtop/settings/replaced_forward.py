"""A replacement for a module's forward.

It is in the module's `__dict__`, where a call finds it before the forward of the class. Removing
it leaves the module as it was. A copy or a pickle of the module made meanwhile gets the plain method
of the class instead: reading it does not need memtop, and it computes without the replacement.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from ..safety.threads import touches

FORWARD = "forward"


class ReplacedForward:
    """Replaces the forward of one module. It has only a weak reference to the module."""

    def __init__(self, module: Any) -> None:
        self._module = weakref.ref(module)
        self._plain = type(module).forward
        self.ran = False  # the program has called it, and it did what it stands there for

    @property
    def module(self) -> Any:
        """The module."""
        return self._module()

    @touches
    def put(self) -> None:
        """Replace the forward."""
        self.module.__dict__[FORWARD] = self

    @touches
    def remove(self) -> None:
        """Remove the replacement. If the program has put another forward there meanwhile, that stays."""
        module = self.module
        if module is not None and module.__dict__.get(FORWARD) is self:
            del module.__dict__[FORWARD]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute the module's own forward."""
        return self._plain(self.module, *arguments, **named)

    @property
    def __wrapped__(self) -> Any:
        """The module's own forward, so that this one has its signature and name."""
        return self._plain.__get__(self.module)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the class's forward."""
        return getattr(type(self.module).forward, name)

    def __reduce__(self) -> Any:
        """Be copied and pickled as the method of the module's class. The module's state is restored after this, so its
        copy has no replacement yet."""
        return getattr, (self.module, FORWARD)


def took_part(standing: Iterable[ReplacedForward]) -> bool:
    """Report whether one of them was called in the step that ends, and begin the next step."""
    called = [each for each in standing if each.ran]
    for each in called:
        each.ran = False
    return bool(called)


@touches
def is_replaced(module: Any) -> bool:
    """Report whether the program, and not the agent, has replaced a module's forward."""
    own = module.__dict__.get(FORWARD)
    return own is not None and not isinstance(own, ReplacedForward)
