"""The fixture `start`: jobs on the imitated GPU, with the agent or without. `make agent-cuda` names the binaries."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from imitated_job import BINARIES, Job  # noqa: E402


@pytest.fixture
def start() -> Iterator[Callable[..., Job]]:
    """Return a function that starts a job, see `Job`, and by default waits until it has begun. Jobs that
    are still there at the end of the test are killed."""
    if missing := [name for name in BINARIES if not os.environ.get(name)]:
        pytest.skip(f"needs the paths of the binaries in {' and '.join(missing)}: make agent-cuda")
    if torch.version.cuda is None:
        pytest.skip(f"PyTorch {torch.__version__} is built without CUDA")
    jobs: list[Job] = []
    # Not in pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="imitated-") as name:

        def run(*command: Any, begin: bool = True, **options: Any) -> Job:
            folder = Path(name, str(len(jobs)))
            folder.mkdir()
            jobs.append(Job(folder, *command, **options))
            return jobs[-1].begin() if begin else jobs[-1]

        yield run
        for job in jobs:
            job.kill()
