"""``import memtop.auto`` gives a program its agent: now if it has imported PyTorch, else when it has."""

from __future__ import annotations

from .start import start

__all__ = ["start"]

start()
