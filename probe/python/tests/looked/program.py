"""A program that is watched while it trains as fast as it can: python program.py KIND --losses FILE [--steps N].

Without --steps it goes on until its standard input ends. It writes each loss with all its bits, so that the losses of a
watched program can be compared with those of an unwatched one.
"""

from __future__ import annotations

import argparse
import atexit
import itertools
import os
import struct
import threading
from typing import Any, BinaryIO, Callable

import torch

Step = Callable[[], Any]


def linears() -> Step:
    """Train twelve small layers: each second, tens of thousands of small tensors are made and freed."""
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))
    return plain(model, torch.optim.AdamW(model.parameters()), lambda: model(torch.randn(8, 64)).pow(2).mean())


def cuda() -> Step:
    """Train on a device, with steps that allocate much: each viewer turns the allocator's history on, and off."""
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(12))).cuda()
    return plain(model, torch.optim.AdamW(model.parameters()), lambda: model(torch.randn(8, 256, device="cuda")).mean())


def plain(model: Any, optimizer: Any, forward: Step) -> Step:
    def step() -> Any:
        loss = forward()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def ddp() -> Step:
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(torch.distributed.get_rank())
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))
    )
    going = torch.ones(1)
    step = plain(model, torch.optim.AdamW(model.parameters()), lambda: model(torch.randn(8, 64)).pow(2).mean())

    def together() -> Any:
        going.fill_(0.0 if ended.is_set() else 1.0)
        torch.distributed.broadcast(going, 0)  # all ranks make the same number of steps
        if not going.item():
            ended.set()
            raise StopIteration
        return step()

    return together


def serving() -> Step:
    """Answer requests without training. The latest answers are kept."""
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12))).eval()
    cache: list[Any] = []

    @torch.inference_mode()
    def step() -> Any:
        cache.append(model(torch.randn(8, 64)))
        del cache[:-16]
        return cache[-1].mean()

    return step


KINDS: dict[str, Callable[[], Step]] = {"linears": linears, "ddp": ddp, "serving": serving, "cuda": cuda}
RANKS = ("ddp",)  # kinds that run as two processes
DEVICES = ("cuda",)  # kinds that run on the imitated GPU

ended = threading.Event()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--losses", required=True)
    parser.add_argument("--steps", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rank = os.environ.get("RANK", "0")
    with open(f"{options.losses}.{rank}", "wb") as file:
        if not options.steps:
            threading.Thread(target=await_end, daemon=True).start()
        train(options.kind, options.steps, file)


def await_end() -> None:
    """Wait for the file that tells the program to end: a launcher's ranks do not get its standard input."""
    with open(os.environ["LOOKED_END"], "rb") as pipe:
        pipe.read()
    ended.set()


def train(kind: str, steps: int, file: BinaryIO) -> None:
    step = KINDS[kind]()
    for number in itertools.count():
        if (number == steps and steps) or (ended.is_set() and kind not in RANKS):
            break
        try:
            file.write(struct.pack("d", step().item()))
        except StopIteration:
            break
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def leave() -> None:
    """End without the destructors of PyTorch's libraries: with ranks on a processor, about one program in eight aborts
    in them, also one that nobody watches."""
    atexit._run_exitfuncs()
    os._exit(0)


if __name__ == "__main__":
    main()
    leave()
