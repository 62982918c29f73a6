"""Settings on jobs of all kinds: the losses and the state are those of the job alone, to the bit, or the setting is
refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jobs  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_post_hook  # noqa: E402

from memtop.journal import STEP, Journal  # noqa: E402
from memtop.program import Refused  # noqa: E402
from memtop.sampling import Sampling  # noqa: E402
from memtop.watch import Watch  # noqa: E402

pytestmark = pytest.mark.real
STEPS = 200  # of each job; the settings change every ten steps
EVERY = 10
VALUES = [("checkpoint", "all"), ("checkpoint", "off"), ("checkpoint", "half"), ("checkpoint", "off"),
          ("action", "collect-garbage")]  # fmt: skip
count = 0


class Block(torch.nn.Module):  # type: ignore[misc]
    """A block that calls a function between its layers."""

    def __init__(self, effect: Any) -> None:
        super().__init__()
        self.first, self.second, self.effect = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16), effect

    def forward(self, x: Any) -> Any:
        return x + self.effect(self.second(torch.nn.functional.gelu(self.first(x))))


def with_effect(effect: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Sequential(*(Block(effect) for _ in range(3))))
    return model, lambda: model(torch.randn(32, 4)).pow(2).mean()


def generating() -> Any:
    """A job whose blocks draw from a generator of their own."""
    generator = torch.Generator().manual_seed(7)
    return with_effect(lambda x: x * torch.rand(1, generator=generator))


def counting() -> Any:
    """A job whose blocks change a global variable."""
    global count
    count = 0

    def effect(x: Any) -> Any:
        global count
        count += 1
        return x * (1 + count % 3)

    return with_effect(effect)


def closing() -> Any:
    """A job whose blocks count in a closure."""
    calls = [0]

    def effect(x: Any) -> Any:
        calls[0] += 1
        return x * (1 + calls[0] % 3)

    return with_effect(effect)


def trainer() -> Any:
    """Return the losses and the state after training with Hugging Face's Trainer."""
    import transformers

    model, _ = jobs.gpt2()
    data = [{"input_ids": row, "labels": row} for row in torch.randint(97, (STEPS * 4, 32))]
    losses: list[Any] = []

    class Losses(transformers.TrainerCallback):  # type: ignore[misc]
        def on_log(self, *_: Any, logs: Any = None, **__: Any) -> None:
            losses.append(logs.get("loss"))

    arguments = transformers.TrainingArguments(
        output_dir="/nonexistent", max_steps=STEPS, per_device_train_batch_size=4, logging_steps=1, report_to=[],
        use_cpu=True, save_strategy="no", disable_tqdm=True, seed=1,
    )  # fmt: skip
    transformers.Trainer(model, arguments, train_dataset=data, callbacks=[Losses()]).train()
    return losses, model


def accelerated() -> Any:
    """Return the losses and the state after training with Accelerate."""
    import accelerate

    model, forward = jobs.gpt()
    accelerator = accelerate.Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    return _train(model, optimizer, forward, accelerator.backward), model


def lightning() -> Any:
    """Return the losses and the state after training with Lightning."""
    import lightning as L

    losses = []

    class Module(L.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model, _ = jobs.gpt()

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.model(batch[:, :-1].contiguous(), batch[:, 1:].contiguous())[1]
            losses.append(float(loss.detach()))
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters())

    module = Module()
    data = torch.utils.data.DataLoader(torch.randint(97, (STEPS * 2, 33)), batch_size=2)
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "barebones": False}
    L.Trainer(max_steps=STEPS, accelerator="cpu", enable_model_summary=False, **options).fit(module, data)
    return losses, module


def by_hand(make: Any) -> Any:
    """Return a function that trains a model without a framework."""

    def run() -> Any:
        model, forward = make()
        optimizer = torch.optim.AdamW(model.parameters())
        return _train(model, optimizer, forward, lambda loss: loss.backward()), model

    return run


def _train(model: Any, optimizer: Any, forward: Any, backward: Any) -> list[float]:
    losses = []
    for _ in range(STEPS):
        loss = forward()
        optimizer.zero_grad()
        backward(loss)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


JOBS = {
    "gpt": (by_hand(jobs.gpt), "", True),
    "dropout": (by_hand(jobs.dropping), "", True),
    "resnet": (by_hand(jobs.resnet), "torchvision", True),
    "generator": (by_hand(generating), "", False),
    "global": (by_hand(counting), "", False),
    "closure": (by_hand(closing), "", False),
    "trainer": (trainer, "transformers", True),
    "accelerate": (accelerated, "accelerate", True),
    "lightning": (lightning, "lightning", True),
}


class Presser:
    """Presses one key after another while a job runs, and notes what was refused."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.watch = Watch(self.journal)
        self.watch.sampling = Sampling(credit_ns=10**15)  # every step is looked at
        self.refused: list[str] = []
        self.values: set[str] = set()  # of checkpoint, with which steps have run
        self.watch.settings.refused = lambda reason, key: self.refused.append(reason)
        self.watch.want(True)
        self._handle = register_optimizer_step_post_hook(self._stepped)
        self._steps = 0

    def _stepped(self, *_: Any) -> None:
        self._steps += 1
        [*_, last] = self.journal.latest(STEP)  # the journal drops old messages
        self.values |= {s["value"] for s in last["settings"] if s["key"] == "checkpoint"}
        if self._steps % EVERY == 0:
            key, value = VALUES[self._steps // EVERY % len(VALUES)]
            try:
                self.watch.settings.change(key, value)
            except Refused as refused:
                self.refused.append(str(refused))

    def close(self) -> None:
        self._handle.remove()
        self.watch.close()


@pytest.mark.parametrize("name", JOBS)
def test_the_numbers_of_a_job_are_the_same_with_all_keys(name: str) -> None:
    run, needs, possible = JOBS[name]
    if needs and importlib.util.find_spec(needs) is None:
        pytest.skip(f"needs {needs}")
    torch.manual_seed(1)
    losses, model = run()
    torch.manual_seed(1)
    presser = Presser()
    try:
        pressed, other = run()
    finally:
        presser.close()
    assert presser.watch.guard.error == ""
    assert len(losses) >= STEPS and pressed == losses
    for own, theirs in zip(model.state_dict().values(), other.state_dict().values()):
        assert torch.equal(own, theirs)
    if possible:
        assert "all" in presser.values, presser.refused
    else:
        assert presser.values == {"off"} and presser.refused
