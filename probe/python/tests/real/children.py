"""A job that starts children while it trains: python children.py fork|spawn|forkserver|loader. It begins when it reads
a line from its standard input. Each child prints its loss, and whether it has parts of an agent."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import torch
from subjects import Subject, gpt

STEPS = 24
EVERY = 8  # one child every so many steps


def report(subject: Subject, seed: int) -> str:
    """Train a little in a child, and return the parts of an agent that it has. Only a forked child trains to the end of
    a step: any other would count as a rank and get an agent of its own."""
    torch.manual_seed(seed)
    loss, _ = subject.loss_of(subject.model, subject.batch())
    loss.backward()
    if multiprocessing.get_start_method() == "fork":
        subject.optimizer().step()
    agents = [agent for agent in [getattr(sys.modules.get("memtop.agent"), "_agent", None)] if agent]
    sockets = list(Path(os.environ["MEMTOP_DIR"]).glob(f"{os.getpid()}-*"))
    hooks = torch.nn.modules.module
    return f"{loss.item()!r} {agents} {sockets} {len(hooks._global_forward_hooks)}"


def work(queue: Any, seed: int, subject: Subject | None = None) -> None:
    torch.manual_seed(seed)
    queue.put(report(subject or gpt(), seed))


class Batches(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    """Loads batches. Each batch says which parts of an agent its worker has."""

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
