"""Snapshots as bytes, as short as their reader wants. Nothing here imports PyTorch."""

from __future__ import annotations

import pickle
from typing import Any

MOST_BYTES = 64 << 20  # of one snapshot, see docs/protocol.md
MOST_ENTRIES = 200_000  # history entries of one snapshot, if the program keeps more
PROTOCOL = 4  # of pickles; all readers know it


def pickled(contents: dict[str, Any]) -> bytes:
    """Return a snapshot as bytes. Leave out the oldest entries of a history that is too long to be sent."""
    entries = MOST_ENTRIES
    while True:
        shorten(contents, entries)
        data = pickle.dumps(contents, PROTOCOL)
        if len(data) <= MOST_BYTES or entries == 0:
            return data
        entries //= 4


def shorten(contents: dict[str, Any], entries: int) -> None:
    """Keep only the last entries of each device's history."""
    for trace in (*(contents.get("device_traces") or ()), contents.get("host_traces") or []):
        del trace[: max(0, len(trace) - entries)]
