"""Call a function as soon as a package has been imported, without importing it.

Until then, each import of a module that is not loaded yet costs one comparison. This file uses
nothing of the package: sitecustomize runs it alone.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing itself would cost every program some time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Watch:
    """A finder of modules. It asks the other finders, and notices when they find the one module."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec that a later finder gives, and run `then` once the module has been executed."""
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
        """Make the loader call `then` after it has executed the module. Right before that, the loader is as it was."""
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: Any) -> None:
            vars(loader).pop("exec_module", None)  # another watch may have removed it
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._then()

        if hasattr(loader, "__dict__"):  # a loader without a dictionary is left alone, and imports the module as always
            loader.exec_module = exec_module


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Call `then` once: now if the module has been imported, otherwise when it has. `then` must not raise."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        then()
    else:
        sys.meta_path.insert(0, _Watch(name, then))
