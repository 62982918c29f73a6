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
from collections.abc import Iterator
from typing import Any, BinaryIO, Callable

import torch

Step = Callable[[], Any]


def linears(**options: Any) -> Step:
    """Train twelve small layers: each second, tens of thousands of small tensors are made and freed."""
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))
    return plain(
        model, torch.optim.AdamW(model.parameters(), **options), lambda: model(torch.randn(8, 64)).pow(2).mean()
    )


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


def parallel(wrap: Callable[[Any], Any]) -> Step:
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(torch.distributed.get_rank())
    model = wrap(torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12))))
    optimizer = torch.optim.AdamW(model.parameters())
    going = torch.ones(1)
    step = plain(model, optimizer, lambda: model(torch.randn(8, 64)).pow(2).mean())

    def together() -> Any:
        going.fill_(0.0 if ended.is_set() else 1.0)
        torch.distributed.broadcast(going, 0)  # all ranks make the same number of steps
        if not going.item():
            ended.set()
            raise StopIteration
        return step()

    return together


def ddp() -> Step:
    return parallel(torch.nn.parallel.DistributedDataParallel)


def fsdp2() -> Step:
    from torch.distributed.fsdp import fully_shard

    def wrap(model: Any) -> Any:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
        for layer in model:
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)

    return parallel(wrap)


def gan() -> Step:
    """Train two models, each with an optimizer."""
    maker, judge = (torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Linear(32, out)) for out in (16, 1))
    optimizers = [torch.optim.Adam(model.parameters()) for model in (maker, judge)]

    def step() -> Any:
        for optimizer, sign in zip(optimizers, (1, -1)):
            loss = sign * judge(maker(torch.randn(8, 16))).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss

    return step


def accumulating() -> Step:
    """Train under autocast, with checkpoints, and several backward passes for each step."""
    from torch.utils.checkpoint import checkpoint

    blocks = torch.nn.ModuleList(
        torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)) for _ in range(4)
    )
    optimizer = torch.optim.SGD(blocks.parameters(), lr=0.01, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        for _ in range(4):
            x = torch.randn(8, 32)
            with torch.autocast("cpu", torch.bfloat16):
                for block in blocks:
                    x = checkpoint(block, x, use_reentrant=False)
            loss = x.float().pow(2).mean()
            loss.backward()
        optimizer.step()
        return loss

    return step


def threads() -> Step:
    """Train one model while a thread trains another."""
    other = linears(foreach=False)

    def beside() -> None:
        while not ended.is_set():
            other()

    besides.append(threading.Thread(target=beside))
    besides[-1].start()
    generator = torch.Generator().manual_seed(1)  # the other thread uses the common generator
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.1, 0.1, generator=generator)
    forward = lambda: model(torch.randn(8, 64, generator=generator)).pow(2).mean()  # noqa: E731
    return plain(model, torch.optim.AdamW(model.parameters()), forward)


class Squares(torch.utils.data.Dataset):  # type: ignore[misc,type-arg]
    def __len__(self) -> int:
        return 4096

    def __getitem__(self, number: int) -> Any:
        return torch.full((64,), number / 4096)


def loading() -> Step:
    """Train on batches that two workers load."""
    loader = torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=2, persistent_workers=True)

    def endless() -> Iterator[Any]:
        while True:
            yield from loader

    batches = endless()
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 64))
    return plain(model, torch.optim.Adam(model.parameters()), lambda: model(next(batches)).pow(2).mean())


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


def lightning(write: Callable[[float], None], steps: int) -> None:
    """Train with Lightning, which has a loop of its own."""
    import logging
    import warnings

    import lightning as framework

    logging.disable()
    warnings.simplefilter("ignore")

    class Module(framework.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))

        def training_step(self, batch: Any, number: int) -> Any:
            loss = self.layers(batch).pow(2).mean()
            write(loss.item())
            self.trainer.should_stop = ended.is_set()
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters())

    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = framework.Trainer(accelerator="cpu", max_steps=steps or -1, max_epochs=-1, min_epochs=0, **quiet)
    trainer.fit(Module(), torch.utils.data.DataLoader(Squares(), batch_size=8))


KINDS: dict[str, Any] = {
    "linears": linears, "for-loop": lambda: linears(foreach=False), "ddp": ddp, "fsdp2": fsdp2, "gan": gan,
    "accumulating": accumulating, "threads": threads, "loading": loading, "serving": serving, "lightning": None,
    "cuda": cuda,
}  # fmt: skip
RANKS = ("ddp", "fsdp2")  # kinds that run as two processes
DEVICES = ("cuda",)  # kinds that run on the imitated GPU

ended = threading.Event()
besides: list[threading.Thread] = []  # threads that end with the program


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
    def write(loss: float) -> None:
        file.write(struct.pack("d", loss))

    if kind == "lightning":
        lightning(write, steps)
        return
    step = KINDS[kind]()
    for number in itertools.count():
        if (number == steps and steps) or (ended.is_set() and kind not in RANKS):
            break
        try:
            write(step().item())
        except StopIteration:
            break
    ended.set()
    for thread in besides:
        thread.join()
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
