"""A job that keeps no more after a step than before it: python clean_job.py KIND STEPS FOLDER DEVICE. When it has
begun to use the device, it makes a file in the folder, named by its pid. It begins when there is a file "go"."""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest
import subjects
import torch
from programs import PROGRAMS, RANKS, Run, descend
from torch.optim.optimizer import register_optimizer_step_pre_hook

STEP = 0.02  # seconds that a step takes at least, so that the time of all steps pays for looks at some to the end
MISSING = 77  # the exit code if a library is not installed


def average(run: Run) -> None:
    """An average of the weights, which is made after each step."""
    made = subjects.gpt()
    model = made.model.to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    averaged: Any = None
    for _ in range(run.steps):
        loss, rest = made.loss_of(model, run.moved(made.batch()))
        descend(optimizer, loss)
        del rest
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
        descend(optimizer, loss)


class Rows(torch.utils.data.Dataset[Any]):
    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((64,), index / self._count), index % 8


def loader(run: Run) -> None:
    """Batches that other processes make, and means of losses over the last steps."""
    model = torch.nn.Linear(64, 8).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    recent: deque[Any] = deque(maxlen=10)
    for x, y in torch.utils.data.DataLoader(Rows(16 * run.steps), batch_size=16, num_workers=2):
        loss = torch.nn.functional.cross_entropy(model(x.to(run.device)), y.to(run.device))
        descend(optimizer, loss)
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


def lengths(run: Run) -> None:
    """A GPT with batches of another length in each step."""
    model = subjects.gpt().model.to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(run.steps):
        words = torch.randint(subjects.WORDS, (2, random.randint(3, subjects.LENGTH))).to(run.device)
        loss = model(words[:, :-1].contiguous(), words[:, 1:].contiguous())[1]
        descend(optimizer, loss)


def validated(run: Run) -> None:
    """Mixed precision, a list of the losses as numbers, and a validation every 50 steps."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4)).to(run.device)
    optimizer = torch.optim.Adam(model.parameters())
    losses: list[float] = []
    for step in range(run.steps):
        x, y = torch.randn(16, 32, device=run.device), torch.randint(4, (16,), device=run.device)
        with torch.autocast(run.device, torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        descend(optimizer, loss)
        losses.append(loss.item())
        if step % 50 == 0:
            model.eval()
            with torch.no_grad():
                found = [model(torch.randn(64, 32, device=run.device)).argmax(-1) for _ in range(5)]
            losses.append(float(torch.cat(found).float().mean()))
            model.train()


class Pictures(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 16 * 100

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.rand(3, 16, 16), index % 8


def workers(run: Run, count: int = 2) -> None:
    """A CNN: epochs of a hundred batches of lasting workers, pinned for a GPU, and a validation after each."""
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 8))
    model.to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    batches = torch.utils.data.DataLoader(
        Pictures(), batch_size=16, num_workers=count, persistent_workers=count > 0, pin_memory=run.device == "cuda"
    )
    best, steps = 0.0, 0
    while steps < run.steps:
        model.train()
        for x, y in batches:
            loss = nn.functional.cross_entropy(model(x.to(run.device)), y.to(run.device))
            descend(optimizer, loss)
            steps += 1
        model.eval()
        with torch.no_grad():
            right = [(model(torch.rand(32, 3, 16, 16, device=run.device)).argmax(-1) == 0).sum() for _ in range(8)]
        best = max(best, float(torch.stack(right).sum()))


def alone(run: Run) -> None:
    workers(run, 0)


def texts(run: Run) -> None:
    """A language model, and a cache on the host of 24 prepared texts of two MiB each, of which each step draws one."""
    made = subjects.gpt()
    model = made.model.to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    prepared: dict[int, torch.Tensor] = {}
    for _ in range(run.steps):
        text = random.randrange(24)
        if text not in prepared:
            prepared[text] = torch.zeros(1 << 18, dtype=torch.int64)
        loss, rest = made.loss_of(model, run.moved(made.batch()))
        descend(optimizer, loss)
        del rest


def saved(run: Run) -> None:
    """Checkpoints every hundred steps, of which two stay, and a log of the last thousand lines."""
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))).to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    log: deque[str] = deque(maxlen=1000)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(run.steps):
            loss = model(torch.randn(8, 512, device=run.device)).pow(2).mean()
            descend(optimizer, loss)
            log.append(json.dumps({"step": step, "loss": float(loss.detach()), "text": "x" * 500}))
            if step % 100 == 0:
                whole = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "log": list(log)}
                torch.save(whole, Path(folder, f"{step // 100 % 2}.pt"))


def mapped(run: Run) -> None:
    """Rows of an array of 64 MiB that is a mapped file, in a random order."""
    import numpy as np

    model = torch.nn.Linear(256, 8).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.bin")
        np.zeros((1 << 16, 256), np.float32).tofile(path)
        rows = np.memmap(path, np.float32, "r", shape=(1 << 16, 256))
        for _ in range(run.steps):
            chosen = np.random.randint(0, len(rows), 32)
            x = torch.from_numpy(rows[chosen]).to(run.device)
            loss = model(x).pow(2).mean()
            descend(optimizer, loss)


def compiled(run: Run) -> None:
    """A compiled model, with as many rows as the epoch has left at its end."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 8)).to(run.device)
    optimizer = torch.optim.AdamW(model.parameters())
    fast = torch.compile(model, backend="aot_eager")
    for step in range(run.steps):
        loss = fast(torch.randn(32 if step % 100 else 20, 64, device=run.device)).pow(2).mean()
        descend(optimizer, loss)


def exported(run: Run) -> None:
    """Results of each step in 64 small files, all with names of their own."""
    model = torch.nn.Linear(64, 8).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(run.steps):
            results = model(torch.randn(64, 64, device=run.device))
            descend(optimizer, results.pow(2).mean())
            for row, result in enumerate(results.tolist()):
                Path(folder, f"{step}-{row}.json").write_text(json.dumps(result))


def reserved(run: Run) -> None:
    """A table of all results on the host that is allocated before the first step, of 64 KiB for each step."""
    model = torch.nn.Linear(64, 256).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    table = torch.empty(run.steps, 64, 256)
    for step in range(run.steps):
        results = model(torch.randn(64, 64, device=run.device))
        descend(optimizer, results.pow(2).mean())
        table[step] = results.detach().cpu()


def scattered(run: Run) -> None:
    """On the host, 400 tensors of random lengths up to a MiB, of which each step makes 20 anew, in a random order."""
    model = torch.nn.Linear(64, 8).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    made = [torch.zeros(0)] * 400
    for _ in range(run.steps):
        for at in random.sample(range(len(made)), 20):
            made[at] = torch.zeros(int(2 ** random.uniform(4, 18)))
        loss = model(torch.randn(16, 64, device=run.device)).pow(2).mean()
        descend(optimizer, loss)


OWN = {
    job.__name__: job
    for job in (
        average, replay, loader, accumulated, lengths, validated, workers, alone, texts, saved, mapped,
        compiled, exported, reserved, scattered,
    )
}  # fmt: skip


def wait(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    while not (folder / "go").exists():
        time.sleep(0.02)


def main() -> None:
    kind, steps, folder, device = sys.argv[1:5]
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.ones(1, device=device)
    if kind in RANKS:
        torch.distributed.init_process_group("gloo" if device == "cpu" else "nccl")
    wait(Path(folder))
    register_optimizer_step_pre_hook(lambda *_: time.sleep(STEP))
    try:
        {**PROGRAMS, **RANKS, **OWN}[kind](Run(device, int(steps)))
    except (ImportError, pytest.skip.Exception) as error:
        print(error, file=sys.stderr)
        sys.exit(MISSING)
    if kind in RANKS:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
