"""The agent of memtop: it lets a viewer look at the memory of a PyTorch job.

``import memtop.auto`` starts it. It needs only the standard library, and touches
PyTorch only after the program itself has imported it.
"""

from __future__ import annotations

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """``%load_ext memtop`` in a notebook adds ``%memtop``."""
    from .notebook import register

    register(shell)
