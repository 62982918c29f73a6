"""Settings that change a job: what they do to its numbers, its memory and its modules."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

import jobs  # noqa: E402
from jobs import Job  # noqa: E402

NEEDS = {"resnet": "torchvision", "gpt2": "transformers", "lora": "peft"}


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    begun: list[Job] = []
    for module in ("watch", "gradients"):  # where the ends of storages must be asked for, a test cannot wait to ask
        monkeypatch.setattr(f"memtop.{module}.PAUSE", 0)

    def begin(name: Any, *arguments: Any, **named: Any) -> Job:
        if name in NEEDS:
            pytest.importorskip(NEEDS[name], reason=f"needs {NEEDS[name]}")
        begun.append(Job(getattr(jobs, name) if isinstance(name, str) else name, *arguments, **named))
        return begun[-1]

    yield begin
    for j in begun:
        j.close()


def image(model: Any) -> list[Any]:
    """Return what a model's modules have in their `__dict__`, in order, with the identity of each thing."""
    return [
        (path, [(name, sorted(value) if name == "_buffers" else id(value)) for name, value in module.__dict__.items()])
        for path, module in model.named_modules()
    ]


@pytest.mark.parametrize("name", ["gpt", "dropping", "resnet", "gpt2", "lora"])
def test_checkpointing_changes_memory_as_predicted_and_no_number(job: Any, name: str) -> None:
    plain = job(name, watched=False)
    plain.train(8)
    gc.collect()
    j = job(name)
    j.train(3)
    made, peak, activations = image(j.model), j.peak(), j.activations()
    predicted = j.settings.predict("checkpoint", "all")
    j.change("checkpoint", "all")
    j.train(1)
    assert image(j.model) != made
    j.train(2)
    assert predicted["activation_bytes"] < 0
    assert j.activations() - activations == pytest.approx(predicted["activation_bytes"], rel=0.05)
    assert j.peak() - peak == pytest.approx(predicted["peak_allocated_bytes"], rel=0.05)
    assert {"key": "checkpoint", "value": "all"} in j.steps()[-1]["settings"]
    j.change("checkpoint", "off")
    j.train(2)
    assert image(j.model) == made
    assert j.losses == plain.losses
    for own, other in zip(j.model.state_dict().values(), plain.model.state_dict().values()):
        assert torch.equal(own, other)
    assert j.refused == []
    if j.watch.registry.exact:
        assert (j.activations(), j.peak()) == (activations, peak)
