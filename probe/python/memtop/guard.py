"""What keeps a mistake of the agent's from the program: its hooks fail without harm, once, and then rest."""

from __future__ import annotations

import functools
import traceback
from typing import Any, Callable

from .threads import called_by_pytorch


class Guard:
    """Wraps what PyTorch calls. After a first failure nothing that it wraps does anything. Safe for concurrent use."""

    def __init__(self) -> None:
        self.error = ""  # what failed first and where, one line
        self.failed: Callable[[str], None] = _unheard

    def __call__(self, function: Callable[..., Any]) -> Callable[..., None]:
        """Return a function that PyTorch may call: it calls another, raises nothing and returns nothing."""
        function = called_by_pytorch(function)

        @functools.wraps(function)
        def guarded(*arguments: Any) -> None:
            if self.error:
                return
            try:
                function(*arguments)
            except Exception as error:
                self.fail(error)

        return guarded

    def fail(self, error: Exception) -> None:
        """Take note of a failure, and tell of the first."""
        if not self.error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            file = place.filename.replace("\\", "/").rsplit("/", 1)[-1]
            self.error = f"{type(error).__name__} at {file}:{place.lineno}: {' '.join(str(error).split())[:200]}"
            self.failed(self.error)


def _unheard(error: str) -> None:
    """Stand for who is told."""
