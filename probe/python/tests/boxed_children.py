"""A job with children: python boxed_children.py fork|spawn end|kill. It loads its data in two workers, and a child of
multiprocessing trains beside it and ends well. Then the job ends, or kills itself. It prints each step."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from typing import Any

import torch

STEPS = 8


class Data(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, number: int) -> Any:
        return torch.ones(4, 16)


def train(batches: Any) -> None:
    torch.set_num_threads(1)
    model = torch.nn.Linear(16, 16)
    optimizer = torch.optim.AdamW(model.parameters())
    for step, batch in enumerate(batches, 1):
        model(batch).sum().backward()
        optimizer.step()
        print(os.getpid(), step, flush=True)


def beside() -> None:
    train([torch.ones(4, 16)] * STEPS)


def main() -> None:
    way, end = sys.argv[1:]
    context: Any = multiprocessing.get_context(way)
    child = context.Process(target=beside)
    child.start()
    train(torch.utils.data.DataLoader(Data(), batch_size=None, num_workers=2, multiprocessing_context=way))
    child.join()
    print("child", child.exitcode, flush=True)
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
