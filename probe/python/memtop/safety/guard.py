"""The guard around the agent's hooks: a failure never reaches the program, and after the first one no hook runs
again."""

from __future__ import annotations

import functools
import traceback
from typing import Any, Callable

from .compiled import untraced
from .interrupts import let_through
from .modes import is_traced, unseen


class Guard:
    """Wraps functions that PyTorch calls. After a first failure they all do nothing. Safe for concurrent use."""

    def __init__(self) -> None:
        self.error = ""  # the first failure and its place, in one line
        self.failed: Callable[[str], None] = lambda error: None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., None]:
        """Return a function for PyTorch to call: it calls `function`, but raises nothing of the agent's and returns
        nothing. While PyTorch makes a graph of what is called, it does nothing."""
        function = unseen(function)

        @functools.wraps(function)
        def guarded(*arguments: Any) -> None:
            if self.error or is_traced():
                return
            try:
                function(*arguments)
            except Exception as error:
                self.fail(error)

        return untraced(guarded)

    def fail(self, error: Exception) -> None:
        """Note a failure, and report the first one. Raise what is the program's."""
        let_through(error)
        if not self.error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            file = place.filename.replace("\\", "/").rsplit("/", 1)[-1]
            self.error = f"{type(error).__name__} at {file}:{place.lineno}: {' '.join(str(error).split())[:200]}"
            self.failed(self.error)
