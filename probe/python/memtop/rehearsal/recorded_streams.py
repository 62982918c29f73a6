"""Lines that hand a tensor to another stream (`record_stream`): PyTorch frees it when that stream has passed it. When
that is, only a GPU knows."""

from __future__ import annotations

import collections
import functools
import sys
from typing import Any

import torch

from .device_reads import place


class RecordedStreams:
    """Counts the calls of `record_stream` by line."""

    def __init__(self) -> None:
        self._lines: collections.Counter[str] = collections.Counter()

    def begin(self) -> None:
        """Replace PyTorch's function."""
        original: Any = torch.Tensor.record_stream

        @functools.wraps(original)
        def record_stream(x: Any, *arguments: Any, **named: Any) -> Any:
            self._lines[place(sys._getframe(1))] += 1
            return original(x, *arguments, **named)

        torch.Tensor.record_stream = record_stream

    def most(self) -> str:
        """Return the line with the most calls, "" if none is known."""
        return next((line for line, _ in self._lines.most_common() if line), "")
