"""``import memtop.auto`` starts the agent: now if PyTorch has been imported, otherwise as soon as it is."""

from __future__ import annotations

from .start.start import start

__all__ = ["start"]

start(told=True)
