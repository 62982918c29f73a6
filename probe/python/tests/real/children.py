"""A job that makes children while it trains: python children.py fork|spawn|forkserver|loader. It begins with a line on
its standard input. A child prints its loss, and what it has of an agent."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from pathlib import Path
from typing import Any

import torch
from subjects import Subject, gpt

STEPS = 24
EVERY = 8  # steps with a child each time


def report(subject: Subject, seed: int) -> str:
    """Train a little in a child, and say what there is of an agent. A child that was forked trains to a step's end, as
    no other does, which would be a rank that has an agent of its own."""
    torch.manual_seed(seed)
    loss, _ = subject.loss_of(subject.model, subject.batch())
    loss.backward()
    if multiprocessing.get_start_method() == "fork":
        subject.optimizer().step()
    threads = [thread.name for thread in threading.enumerate() if "memtop" in thread.name]
    sockets = list(Path(os.environ["MEMTOP_DIR"]).glob(f"{os.getpid()}-*"))
    hooks = torch.nn.modules.module
    return f"{loss.item()!r} {threads} {sockets} {len(hooks._global_forward_hooks)}"


def work(queue: Any, seed: int, subject: Subject | None = None) -> None:
    torch.manual_seed(seed)
    queue.put(report(subject or gpt(), seed))


class Batches(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    """Loads batches, each with what its worker has of an agent."""

    def __len__(self) -> int:
        return EVERY

    def __getitem__(self, number: int) -> tuple[str, Any]:
        torch.manual_seed(number)
        subject = gpt()
        return report(subject, number), subject.batch()


def main() -> None:
    way = sys.argv[1]
    sys.stdin.readline()
    multiprocessing.set_start_method("fork" if way == "loader" else way)
    torch.manual_seed(1)
    subject = gpt()
    optimizer = subject.optimizer()
    batches: Any = iter(())
    for step in range(STEPS):
        batch = subject.batch()
        if way == "loader":
            if step % EVERY == 0:
                batches = iter(torch.utils.data.DataLoader(Batches(), batch_size=None, num_workers=2))
            said, batch = next(batches)
            print(said, flush=True)
        loss, _ = subject.loss_of(subject.model, batch)
        if way != "loader" and step % EVERY == 0:  # within a step, where hooks may be
            queue: Any = multiprocessing.Queue()
            child = multiprocessing.Process(target=work, args=(queue, step, subject if way == "fork" else None))
            child.start()
            print(queue.get(timeout=60), flush=True)
            child.join()
            print(child.exitcode, flush=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}", flush=True)


if __name__ == "__main__":
    main()
