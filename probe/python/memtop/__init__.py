"""The agent of memtop: what lets a viewer look at the memory of a PyTorch job.

``import memtop.auto`` starts it. It needs nothing but the standard library, and
touches PyTorch only after the program itself has imported it.
"""

from __future__ import annotations

__version__ = "0.1.0"
