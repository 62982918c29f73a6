"""Starting the agent, in the processes of a job that may train.

Others get none: launchers, data loaders' workers, compilers. A child of
multiprocessing may be a rank, so it has one from its first optimizer step on.
Nothing here imports PyTorch, raises into the program or prints.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from .imitated import rehearsed
from .importing import when_imported
from .role import Role, role

_asked = False
_begun = False


def start() -> None:
    """Have the agent started as soon as PyTorch has been imported. Only the first call does something."""
    global _asked
    if not _asked:
        _asked = True
        when_imported("torch", begin)


def begin() -> None:
    """Start the agent if this process is one that may train. PyTorch has been imported."""
    global _begun
    if _begun:
        return
    _begun = True
    try:
        part = role()
        if rehearsed() and part is not Role.LAUNCHER:
            importlib.import_module("memtop.rehearsal").begin()
        if part is Role.PROGRAM:
            start_agent()
        elif part is Role.CHILD:
            _at_first_step()
    except Exception:
        pass  # an agent that cannot start is no reason for the program not to


def start_agent() -> None:
    """Start the agent in this process, whatever its part is. It raises what the agent does."""
    importlib.import_module("memtop.agent").start()


def _at_first_step() -> None:
    """Start the agent after the first optimizer step, and watch for no second one."""
    stepping = importlib.import_module("memtop.stepping")

    def stepped(_: Any) -> None:
        stepping.ignore(stepped)
        with contextlib.suppress(Exception):
            start_agent()

    stepping.listen(stepped)
