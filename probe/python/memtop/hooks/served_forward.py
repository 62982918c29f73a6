"""A replacement for the forward of a model that serves: it tells when a call begins and ends.

It is there only while a viewer watches a program without an optimizer. Unlike a hook on all modules it
costs nothing in the modules that the model calls.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..safety.compiled import is_compiling
from ..safety.threads import touches
from ..settings.replaced_forward import FORWARD, ReplacedForward

Begin = Callable[[Any, Any, Any], bool]  # takes a model and a call's arguments; reports whether to tell its end
End = Callable[[Any, Any], None]  # takes a model and a call's result, None if it raised an exception


class ServedForward(ReplacedForward):
    """Calls `begin` before each call of a model, and `end` after those for which `begin` returned true. Neither may
    raise an exception."""

    @touches
    def __init__(self, module: Any, begin: Begin, end: End) -> None:
        super().__init__(module)
        self._own = module.__dict__.get(FORWARD)  # the program's own replacement, such as Accelerate's
        self._begin = begin
        self._end = end

    @touches
    def remove(self) -> None:
        """Put back what was there, unless the program has put another forward there meanwhile."""
        module = self.module
        if self._own is None:
            super().remove()
        elif module is not None and module.__dict__.get(FORWARD) is self:
            module.__dict__[FORWARD] = self._own

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute the module's own forward."""
        if is_compiling() or not self._begin(self.module, arguments, named):
            return self._compute(arguments, named)
        output = None
        try:
            output = self._compute(arguments, named)
            return output
        finally:
            self._end(self.module, output)

    def _compute(self, arguments: Any, named: Any) -> Any:
        if self._own is not None:
            return self._own(*arguments, **named)
        return self._plain(self.module, *arguments, **named)

    @property
    def __wrapped__(self) -> Any:
        """The forward that this one replaces, so that this one has its signature and name."""
        return self._plain.__get__(self.module) if self._own is None else self._own

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the forward that this one replaces."""
        own = self.__dict__.get("_own")
        return getattr(type(self.module).forward if own is None else own, name)

    def __reduce__(self) -> Any:
        """Be copied and pickled as the forward that this one replaces."""
        return super().__reduce__() if self._own is None else (functools.partial, (self._own,))
