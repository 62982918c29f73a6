"""Starting the agent in those processes of a job that may train.

Launchers, data loaders' workers and compilers get none. A child of multiprocessing may be a rank, so it
gets an agent at its first optimizer step. Nothing here imports PyTorch or raises into the program. Only a program that
imports `memtop.auto` is told, in a line, why it has no agent.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..rehearsal.imitated import rehearsed
from ..safety.interrupts import ignored, let_through
from .importing import when_imported
from .roles import Role, role

_asked = False
_begun = False
_told = False  # the program is told why it has no agent


def start(told: bool = False) -> None:
    """Start the agent as soon as PyTorch has been imported. Only the first call has an effect."""
    global _asked, _told
    _told = _told or told
    if not _asked:
        _asked = True
        when_imported("torch", begin)


def begin() -> None:
    """Start the agent if this process may train. PyTorch must have been imported."""
    global _begun
    if _begun:
        return
    _begun = True
    try:
        part = role()
        if rehearsed() and part is not Role.LAUNCHER:
            importlib.import_module("memtop.rehearsal.rehearsal").begin()
        if part is Role.PROGRAM:
            start_agent()
        elif part is Role.CHILD:
            _at_first_step()
    except Exception as error:  # the program must run even if its agent cannot start
        let_through(error)
        if _told or rehearsed():
            print(f"memtop: this program has no agent: {error}", file=sys.stderr)


def start_agent(host: str = "") -> None:
    """Start the agent in this process, whatever its role, with a host or that of the job. It raises the agent's
    exceptions."""
    importlib.import_module("memtop.agent").start(host)


def _at_first_step() -> None:
    """Start the agent after the first optimizer step, and stop listening for steps."""
    stepping = importlib.import_module("memtop.hooks.optimizer_step")

    def stepped(_: Any) -> None:
        stepping.ignore(stepped)
        with ignored(Exception):
            start_agent()

    stepping.listen(stepped)
