"""A training job as people write it: python job.py --steps N [--pause SECONDS]."""

from __future__ import annotations

import argparse
import time

import torch
from subjects import gpt


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--pause", type=float, default=0.0)
    options = parser.parse_args()
    torch.manual_seed(1)
    subject = gpt()
    optimizer = subject.optimizer()
    for step in range(1, options.steps + 1):
        loss, _ = subject.loss_of(subject.model, subject.batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}", flush=True)
        time.sleep(options.pause)


if __name__ == "__main__":
    main()
