"""A training job as people write it, with a mistake or none: python job.py SUBJECT [--leak KIND] [--steps N]."""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from subjects import SUBJECTS

CACHE: dict[int, Any] = {}


class Trainer:
    """Keeps tensors that it should not, if asked to."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.outputs: list[Any] = []
        self.latest: list[Any] = []
        self.callbacks: list[Any] = []

    def keep(self, step: int, loss: Any, result: Any) -> None:
        if self.kind == "loss":
            self.outputs.append(loss)  # leak: loss
        elif self.kind == "output":
            self.latest.append(result.detach().clone())  # leak: output
        elif self.kind == "cache":
            CACHE[step] = result.detach().clone()  # leak: cache
        elif self.kind == "closure":
            self.callbacks.append(lambda: result.sum())  # leak: closure


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--leak", default="none")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--pause", type=float, default=0.0)
    options = parser.parse_args()
    torch.manual_seed(1)
    subject = SUBJECTS[options.subject]()
    optimizer = subject.optimizer()
    trainer = Trainer(options.leak)
    for step in range(1, options.steps + 1):
        loss, rest = subject.loss_of(subject.model, subject.batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        result = rest[0] if isinstance(rest[0], torch.Tensor) else rest[0].logits
        trainer.keep(step, loss, result)
        print(f"step {step} loss {loss.item()!r}", flush=True)
        time.sleep(options.pause)


if __name__ == "__main__":
    main()
