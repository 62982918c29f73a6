"""Control groups for tests."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest


class limited:
    """A control group with a limit of so many bytes, below the group of this process."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.path = ""

    def __enter__(self) -> str:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = {kind or "unified": name.lstrip("/") for _, kind, name in (line.split(":", 2) for line in lines)}
        first = "memory" in own
        parent = Path("/sys/fs/cgroup", *(("memory", own["memory"]) if first else (own.get("unified", ""),)))
        path = parent / f"memtop-test-{os.getpid()}"
        try:
            path.mkdir()
            self.path = str(path)
            (path / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(self.limit))
            (path / "memory.swappiness").write_text("0") if first else (path / "memory.swap.max").write_text("0")
        except OSError as error:
            self.__exit__()
            pytest.skip(f"no control group can be limited here: {error}")
        return self.path

    def __exit__(self, *_: object) -> None:
        until = time.monotonic() + 20
        while self.path and os.path.isdir(self.path) and time.monotonic() < until:
            with contextlib.suppress(OSError):  # its last process may still be ending
                os.rmdir(self.path)
