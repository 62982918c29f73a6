"""A program on a device that does not exist: the stand-in for PyTorch's allocator, with the agent.

Its arguments are a recorded snapshot, and how many of the blocks at the beginning are
parameters. It prints that it is ready, and then obeys the lines of its standard input: a
number is how many events should happen, "snapshot" makes the agent take one now, and
"oom BYTES FREE" is a request that fails. It answers each with a line.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from standin import ACTIVE, Allocator, Tensor

from memtop import agent
from memtop.cuda import CudaMemory
from memtop.registry import by_callback
from memtop.watch import Watch


def main() -> None:
    allocator = Allocator(Path(sys.argv[1]))
    allocator.install()
    agent.start()
    assert agent._agent is not None
    give_parameters(agent._agent.watch, allocator, int(sys.argv[2]))
    print("ready", flush=True)
    for line in sys.stdin:
        what = line.split()
        if what[0] == "oom":
            try:
                allocator.run_out(0, int(what[1]), int(what[2]), 80 << 30)
            except torch.cuda.OutOfMemoryError as error:
                print(str(error).replace("\n", " "), flush=True)
        elif what[0] == "snapshot":
            take(agent._agent.watch)
            print("taken", flush=True)
        else:
            print(allocator.advance(int(what[0])), flush=True)


def take(watch: Watch) -> None:
    """Take a snapshot at any cost."""
    memory = watch.source()
    assert isinstance(memory, CudaMemory)
    memory._snapshots.take()


def give_parameters(watch: Watch, allocator: Allocator, count: int) -> None:
    """Make scans find tensors at the addresses of the first blocks."""
    watch.registry._follow = by_callback
    blocks = [b for s in allocator.snapshot()["segments"] for b in s["blocks"] if b["state"] == ACTIVE]
    tensors = [Tensor(b["address"], b["requested_size"]) for b in blocks[:count]]
    scan = watch.look.gathering.scan

    def scan_them() -> Any:
        for number, tensor in enumerate(tensors):
            watch.registry.see(tensor, "parameter", f"layers.{number}", "weight", 0)
        return scan()

    watch.look.gathering.scan = scan_them  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
