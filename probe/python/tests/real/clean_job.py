"""A job that keeps no more after a step than before it: python clean_job.py KIND STEPS DEVICE. When it has
begun to use the device, it prints a line, waits for one, and makes its steps."""

from __future__ import annotations

import copy
import random
import sys
from collections import deque
from typing import Any

import pytest
import subjects
import torch
from programs import PROGRAMS, RANKS, Run

MISSING = 77  # the exit code if a library is not installed


def average(run: Run) -> None:
    """An average of the weights, which is made after each step."""
    made = subjects.gpt()
    model = made.model.to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    averaged: Any = None
    for _ in range(run.steps):
        loss, rest = made.loss_of(model, run.moved(made.batch()))
        optimizer.zero_grad()
        loss.backward()
        del rest
        optimizer.step()
        if averaged is None:
            averaged = copy.deepcopy(model)
        with torch.no_grad():
            for mean, weight in zip(averaged.parameters(), model.parameters()):
                mean.lerp_(weight, 0.01)


def replay(run: Run) -> None:
    """A buffer of past batches that is full, from which batches are drawn."""
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).to(run.device)
    optimizer = torch.optim.Adam(model.parameters())
    buffer: deque[Any] = deque((torch.randn(32, device=run.device) for _ in range(200)), maxlen=200)
    for _ in range(run.steps):
        buffer.append(torch.randn(32, device=run.device))
        drawn = torch.stack(random.sample(list(buffer), 32))
        loss = model(drawn).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def loader(run: Run) -> None:
    """Batches that other processes make, and means of losses over the last steps."""
    model = torch.nn.Linear(64, 8).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    rows = [(torch.randn(64), index % 8) for index in range(16 * run.steps)]
    recent: deque[Any] = deque(maxlen=10)
    for x, y in torch.utils.data.DataLoader(rows, batch_size=16, num_workers=2):
        loss = torch.nn.functional.cross_entropy(model(x.to(run.device)), y.to(run.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.detach())


def accumulated(run: Run) -> None:
    """Gradients of four batches for each step."""
    made = subjects.gpt()
    model = made.model.to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(run.steps):
        for _ in range(4):
            loss, rest = made.loss_of(model, run.moved(made.batch()))
            (loss / 4).backward()
            del rest
        optimizer.step()
        optimizer.zero_grad()


OWN = {job.__name__: job for job in (average, replay, loader, accumulated)}


def main() -> None:
    kind, steps, device = sys.argv[1:4]
    torch.set_num_threads(1)
    torch.ones(1, device=device)
    print("{}", flush=True)
    sys.stdin.readline()
    if kind in RANKS:
        torch.distributed.init_process_group("gloo" if device == "cpu" else "nccl")
    try:
        {**PROGRAMS, **RANKS, **OWN}[kind](Run(device, int(steps)))
    except (ImportError, pytest.skip.Exception) as error:
        print(error, file=sys.stderr)
        sys.exit(MISSING)
    if kind in RANKS:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
