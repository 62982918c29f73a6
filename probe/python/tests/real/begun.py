"""Jobs under memtop that a test begins, and that end with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
from recording import MEMTOP
from test_counted import TORCHRUN

HERE = Path(__file__).parent
IMITATE = os.environ.get("MEMTOP_IMITATE", "")


class Begun:
    """A script of this folder that runs under memtop, its device as its last argument. It skips the test if there is
    no such device."""

    def __init__(
        self, folder: Path, device: str, *script: str, ranks: int = 1, before: Callable[[], None] | None = None,
        options: tuple[str, ...] = (), **environment: str,
    ) -> None:  # fmt: skip
        if device == "cuda" and (not IMITATE or torch.version.cuda is None):
            pytest.skip("needs MEMTOP_IMITATE, and a PyTorch with CUDA")
        self.folder, self.sockets = folder, folder / "sockets"
        self.sockets.mkdir(mode=0o700)
        self.environment = {**os.environ, "MEMTOP_DIR": str(self.sockets), "OMP_NUM_THREADS": "1", **environment}
        if device == "cpu":
            self.environment["CUDA_VISIBLE_DEVICES"] = ""
        imitated = [IMITATE, "-gpu", "h100-80gb", "-gpus", str(ranks), "--"] if device == "cuda" else []
        launcher = [*TORCHRUN, "--nproc-per-node", str(ranks)] if ranks > 1 else []
        program = [sys.executable, *launcher, str(HERE / script[0]), *script[1:], device]
        self.process = subprocess.Popen(
            [*imitated, MEMTOP, "run", *options, "--", *program], env=self.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, preexec_fn=before,
        )  # fmt: skip

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def starting(kind: type[Begun]) -> Any:
    """Return the fixture `start`: it begins jobs of a kind in the test's folder, and kills them when the test ends."""

    @pytest.fixture
    def start(tmp_path: Path) -> Iterator[Any]:
        jobs: list[Begun] = []

        def begin(*arguments: Any) -> Begun:
            jobs.append(kind(tmp_path, *arguments))
            return jobs[-1]

        yield begin
        for job in jobs:
            job.kill()

    return start
