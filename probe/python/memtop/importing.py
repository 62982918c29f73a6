"""Do something as soon as a package has been imported, and not import it.

Until then it costs one comparison for each import of a module that is not there
yet. The file stands alone: sitecustomize runs it without the package around it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing's own is not asked: it would be imported into programs that may have no use for it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Watch:
    """A finder of modules that finds nothing by itself: it asks the others, and notes when the one is there."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec that the finders behind this one give, and run `then` once the module is executed."""
        if name != self._name or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self._follow(spec.loader)
                return spec
        return None

    def _follow(self, loader: Any) -> None:
        """Have a loader tell of its module. It is as before from the moment at which it executes it."""
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: Any) -> None:
            vars(loader).pop("exec_module", None)  # another watch may have done so
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._then()

        if hasattr(loader, "__dict__"):  # a loader with a form of its own imports the module as always
            loader.exec_module = exec_module


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Call `then` once: now if the module has been imported, else when it has. It must not raise."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        then()
    else:
        sys.meta_path.insert(0, _Watch(name, then))
