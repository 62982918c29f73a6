"""Whole programs of the kinds that people run, for `counted.py`: each trains, or serves, as its library does it.

A program puts its models into `run.models`, and its own batches on `run.device`. If its library is missing, it raises
ImportError.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import subjects
import torch
from subjects import BATCH, LENGTH, WORDS
from torch.nn import functional


@dataclass
class Run:
    """One run of a program."""

    device: str
    steps: int
    models: list[Any] = field(default_factory=list)
    served: Callable[[Any], None] = lambda cache: None  # a server calls this after each request, with its cache

    def moved(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {name: tensor.to(self.device) for name, tensor in batch.items()}


def descend(optimizer: Any, loss: Any) -> None:
    """Make a step of an optimizer."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def subject(
    run: Run, made: subjects.Subject, wrap: Callable[[Any], Any] = lambda model: model, kind: Any = None
) -> None:
    """Train a subject in a plain loop."""
    made.model = wrap(made.model.to(run.device))
    run.models.append(made.model)
    trained = [p for p in made.model.parameters() if p.requires_grad]
    optimizer = kind(trained) if kind else torch.optim.AdamW(trained)
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


def gpt2(run: Run) -> None:
    subject(run, subjects.gpt2_without_labels())


def llama(run: Run) -> None:
    subject(run, subjects.llama_with_labels())


def lora(run: Run) -> None:
    subject(run, subjects.lora())


def trainer(run: Run) -> None:
    """Hugging Face's Trainer with GPT-2."""
    from transformers import Trainer, TrainingArguments

    model = subjects.gpt2()
    run.models.append(model)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, max_steps=run.steps, per_device_train_batch_size=BATCH, report_to=[], save_strategy="no",
            use_cpu=run.device == "cpu", disable_tqdm=True, dataloader_pin_memory=False,
        )  # fmt: skip
        rows = [{name: tensor[0] for name, tensor in subjects.words_with_labels().items()} for _ in range(64)]
        Trainer(model=model, args=settings, train_dataset=rows).train()


def accelerate(run: Run) -> None:
    """Accelerate's loop."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=run.device == "cpu")
    made = subjects.gpt()
    model, optimizer = accelerator.prepare(made.model, torch.optim.AdamW(made.model.parameters()))
    run.models.append(model)
    for _ in range(run.steps):
        loss, rest = made.loss_of(model, run.moved(made.batch()))
        optimizer.zero_grad()
        accelerator.backward(loss)
        del rest
        optimizer.step()


def lightning(run: Run) -> None:
    """Lightning's Trainer, with an evaluation before the training and after each epoch."""
    import lightning

    made = subjects.gpt()

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = made.model

        def training_step(self, batch: Any, _: int) -> Any:
            return made.loss_of(self.model, batch)[0]

        def validation_step(self, batch: Any, _: int) -> Any:
            return made.loss_of(self.model, batch)[0]

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters())

    module = Module()
    run.models.append(module)
    rows = [{name: tensor[0] for name, tensor in made.batch().items()} for _ in range(4 * BATCH)]
    loaders = [torch.utils.data.DataLoader(rows, batch_size=BATCH) for _ in range(2)]
    trainer = lightning.Trainer(
        max_steps=run.steps, accelerator="cpu" if run.device == "cpu" else "gpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, *loaders)


def gan(run: Run) -> None:
    """Two models with an optimizer each, of which the discriminator's steps first."""
    nn = torch.nn
    generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 128), nn.Tanh()).to(run.device)
    discriminator = nn.Sequential(nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(run.device)
    run.models += [generator, discriminator]
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


def unet(run: Run) -> None:
    """A UNet of diffusers, which learns to find the noise."""
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8, attention_head_dim=8,
    ).to(run.device)  # fmt: skip
    run.models.append(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(run.steps):
        images, noise = (torch.randn(2, 3, 16, 16, device=run.device) for _ in range(2))
        times = torch.randint(0, 1000, (2,), device=run.device)
        loss = functional.mse_loss(model(images + noise, times).sample, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def server(run: Run) -> None:
    """Generates with GPT-2: a cache grows with each token, and goes with its request. The number of tokens is fixed."""
    from transformers import DynamicCache

    model = subjects.gpt2().to(run.device).eval()
    run.models.append(model)
    for _ in range(run.steps):
        cache = DynamicCache()
        words = torch.randint(WORDS, (BATCH, 4)).to(run.device)
        with torch.inference_mode():
            for _ in range(LENGTH):
                words = model(words, past_key_values=cache, use_cache=True).logits[:, -1:].argmax(-1)
        run.served(cache)


def ddp(run: Run) -> None:
    subject(run, subjects.gpt(), torch.nn.parallel.DistributedDataParallel)


def zero(run: Run) -> None:
    """Each rank holds the optimizer's state of its part of the parameters."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    subject(
        run, subjects.gpt(), torch.nn.parallel.DistributedDataParallel,
        lambda parameters: ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=1e-3),
    )  # fmt: skip


def fsdp2(run: Run) -> None:
    """Each rank holds a part of each parameter. Blocks are gathered one by one."""
    from torch.distributed.fsdp import fully_shard

    def shard(model: Any) -> Any:
        for block in model.blocks:
            fully_shard(block)
        return fully_shard(model)

    subject(run, subjects.gpt(), shard)


def tensor_parallel(run: Run) -> None:
    """Each rank holds a part of the MLPs' matrices and computes with it."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh(torch.device(run.device).type, (torch.distributed.get_world_size(),))

    def split(model: Any) -> Any:
        for block in model.blocks:
            parallelize_module(block, mesh, {"mlp.0": ColwiseParallel(), "mlp.2": RowwiseParallel()})
        return model

    # An operation on many tensors at once cannot mix divided and whole parameters.
    subject(run, subjects.gpt(), split, lambda parameters: torch.optim.AdamW(parameters, foreach=False))


ALONE = (gpt, resnet, gpt2, llama, lora, trainer, accelerate, lightning, gan, unet, server)
PROGRAMS: dict[str, Callable[[Run], None]] = {program.__name__: program for program in ALONE}
RANKS: dict[str, Callable[[Run], None]] = {program.__name__: program for program in (ddp, zero, fsdp2, tensor_parallel)}
