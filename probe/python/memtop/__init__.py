"""The agent of memtop: it lets a viewer look at the memory of a PyTorch job.

``import memtop.auto`` starts it. It needs only the standard library, and touches
PyTorch only after the program itself has imported it.

A step of a job, from its hooks to a viewer:

    start/      which processes have an agent, and how it comes into them
    hooks/      modules, optimizers and gradients tell what a step does
    watch/      when to measure, and one measured step
    memory/     storages and their ends, the allocator's history, the machine's memory
    names/      what a tensor is for, and which variable keeps it
    settings/   what a viewer may change, from one step on
    link/       all of that, to memtop's host, which serves the viewers
    safety/     what keeps the program as it would be without the agent
    rehearsal/  the same on an imitated GPU, which computes nothing

agent.py joins them; auto.py and notebook.py are what a program may import.
"""

from __future__ import annotations

import os

__version__ = "0.1.0"
FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep  # of the agent's own code


def load_ipython_extension(shell: object) -> None:
    """``%load_ext memtop`` in a notebook adds ``%memtop``."""
    from .notebook import register

    register(shell)
