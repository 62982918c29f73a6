"""Whole programs of the kinds that people run: each trains as its library does it, on `run.device`. If its library is
missing, it raises ImportError."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import subjects
import torch
from subjects import BATCH
from torch.nn import functional


@dataclass
class Run:
    """One run of a program."""

    device: str
    steps: int

    def moved(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {name: tensor.to(self.device) for name, tensor in batch.items()}


def subject(run: Run, made: subjects.Subject, wrap: Callable[[Any], Any] = lambda model: model) -> None:
    """Train a subject in a plain loop."""
    made.model = wrap(made.model.to(run.device))
    trained = [p for p in made.model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained)
    for _ in range(run.steps):
        loss, rest = made.loss_of(made.model, run.moved(made.batch()))
        optimizer.zero_grad()
        loss.backward()
        del rest
        optimizer.step()


def gpt(run: Run) -> None:
    subject(run, subjects.gpt())


def resnet(run: Run) -> None:
    subject(run, subjects.resnet())


def trainer(run: Run) -> None:
    """Hugging Face's Trainer with GPT-2."""
    from transformers import Trainer, TrainingArguments

    model = subjects.gpt2()
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, max_steps=run.steps, per_device_train_batch_size=BATCH, report_to=[], save_strategy="no",
            use_cpu=run.device == "cpu", disable_tqdm=True, dataloader_pin_memory=False,
        )  # fmt: skip
        rows = [{name: tensor[0] for name, tensor in subjects.words_with_labels().items()} for _ in range(64)]
        Trainer(model=model, args=settings, train_dataset=rows).train()


def gan(run: Run) -> None:
    """Two models with an optimizer each, of which the discriminator's steps first."""
    nn = torch.nn
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 128), nn.Tanh()).to(run.device)
    discriminator = nn.Sequential(nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(run.device)
    optimizers = [torch.optim.Adam(model.parameters(), betas=(0.5, 0.999)) for model in (generator, discriminator)]
    for _ in range(run.steps):
        real, noise = (torch.randn(8, width, device=run.device) for width in (128, 16))
        fake = generator(noise)
        optimizers[1].zero_grad()
        said = discriminator(real), discriminator(fake.detach())
        loss = functional.softplus(-said[0]).mean() + functional.softplus(said[1]).mean()
        loss.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        functional.softplus(-discriminator(fake)).mean().backward()
        optimizers[0].step()


def ddp(run: Run) -> None:
    subject(run, subjects.gpt(), torch.nn.parallel.DistributedDataParallel)


def fsdp2(run: Run) -> None:
    """Each rank holds a part of each parameter. Blocks are gathered one by one."""
    from torch.distributed.fsdp import fully_shard

    def shard(model: Any) -> Any:
        for block in model.blocks:
            fully_shard(block)
        return fully_shard(model)

    subject(run, subjects.gpt(), shard)


PROGRAMS: dict[str, Callable[[Run], None]] = {program.__name__: program for program in (gpt, resnet, trainer, gan)}
RANKS: dict[str, Callable[[Run], None]] = {program.__name__: program for program in (ddp, fsdp2)}
