"""A job with a black box, many times over: python boxed.py cpu|cuda FOLDER WAY.

For each line that it reads, it forks a child that begins an agent and trains, and says the child's pid. PyTorch is
imported only once. A child writes a line into FOLDER/PID after each step: the step's number, the bytes in use and
reserved, and the time. WAY says how it goes on: "train" until it is killed, "leak" with memory that grows by a
mebibyte with each step; "end", "raise" and "exit" end by themselves after ten steps.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

STEPS = 10
DEVICE, FOLDER, WAY = sys.argv[1:]


def memory(own: list[Any]) -> tuple[int, int]:
    """Return the bytes in use and reserved, by the job's own count."""
    if DEVICE == "cuda":
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    held = sum(storage.nbytes() for storage in {t.data_ptr(): t.untyped_storage() for t in own}.values())
    return held, held


def tensors_of(model: Any, optimizer: Any) -> list[Any]:
    parameters = list(model.parameters())
    state = [tensor for its in optimizer.state.values() for tensor in its.values()]
    return [*parameters, *(p.grad for p in parameters), *state]


def train() -> None:
    import memtop.agent

    memtop.agent.start()
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4))).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    data = torch.ones(8, 64, device=DEVICE)
    kept: list[Any] = []
    said = os.open(os.path.join(FOLDER, str(os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    step = 0
    while WAY in ("train", "leak") or step < STEPS:
        loss = model(data).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        held, reserved = memory([*tensors_of(model, optimizer), data, loss, *kept])
        os.write(said, f"{step} {held} {reserved} {time.time()}\n".encode())
        if WAY == "leak":
            kept.append(torch.ones(1 << 18, device=DEVICE))
        time.sleep(0.002)
    if WAY == "raise":
        raise RuntimeError("the job failed")


def child() -> None:
    """Train and end as a program of its own does, not as a child of multiprocessing."""
    import atexit

    code = 0
    try:
        gc.collect()  # what the parent left
        train()
    except RuntimeError:
        code = 1
    atexit._run_exitfuncs()
    os._exit(code)


def main() -> None:
    torch.set_num_threads(1)
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child()
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(status, flush=True)


if __name__ == "__main__":
    main()
