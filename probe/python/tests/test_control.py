"""Settings that change a job: what they do to its numbers, its memory and its modules."""

from __future__ import annotations

import copy
import gc
import inspect
import itertools
import pickle
import random
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

import jobs  # noqa: E402
from hosted import Hosted  # noqa: E402
from jobs import Job  # noqa: E402

from memtop.link.program import Refused  # noqa: E402
from memtop.settings.replaced_forward import FORWARD, ReplacedForward  # noqa: E402


@pytest.fixture
def job() -> Iterator[Any]:
    begun: list[Job] = []

    def begin(name: Any, *arguments: Any, **named: Any) -> Job:
        begun.append(Job(getattr(jobs, name) if isinstance(name, str) else name, *arguments, **named))
        return begun[-1]

    yield begin
    for j in begun:
        j.close()


def image(model: Any) -> list[Any]:
    """Return the contents of each module's `__dict__`, in order, with the id of each object."""
    return [
        (path, [(name, sorted(value) if name == "_buffers" else id(value)) for name, value in module.__dict__.items()])
        for path, module in model.named_modules()
    ]


@pytest.mark.parametrize("name", ["gpt", "dropping"])
def test_checkpointing_changes_memory_as_predicted_and_no_number(job: Any, hosted: Hosted, name: str) -> None:
    plain = job(name, watched=False)
    plain.train(8)
    gc.collect()
    j = job(name)
    j.link.passes = hosted.send
    j.train(3)
    made, peak, activations = image(j.model), j.peak(), j.activations()
    predicted = hosted.predicted(j.settings, "all")
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
    assert (j.activations(), j.peak()) == (activations, peak)


class Doubled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


class Block(torch.nn.Module):  # type: ignore[misc]
    """A block. `kind` names its side effect."""

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.first, self.second = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16)
        self.register_buffer("count", torch.zeros(1))
        self.calls = 0

    def forward(self, x: Any) -> Any:
        if self.kind == "custom":
            x = Doubled.apply(x)
        elif self.kind == "attribute":
            self.calls += 1
        elif self.kind == "buffer":
            self.count.add_(1)
        elif self.kind == "random":
            x = x * random.random()
        elif self.kind == "numpy":
            numpy = pytest.importorskip("numpy")
            x = x * float(numpy.random.rand())
        elif self.kind == "checkpointed":
            return x + torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)
        elif self.kind == "reentrant":
            return x + torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=True)
        elif self.kind == "changed":
            y = self.inner(x * 1)
            return y + x.relu_()
        return x + self.inner(x)

    def inner(self, x: Any) -> Any:
        return self.second(torch.nn.functional.gelu(self.first(x)))


count = 0
kept: list[int] = []
own = torch.Generator()


class Counter:
    calls = 0


class Effect(torch.nn.Module):  # type: ignore[misc]
    """A block whose forward calls `effect`, which is no part of it."""

    def __init__(self, effect: Any) -> None:
        super().__init__()
        self.first, self.second, self.state = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16), {"calls": [0]}
        self.draws = None
        self.effect = effect

    def forward(self, x: Any) -> Any:
        self.effect(self)
        return x + self.second(torch.nn.functional.gelu(self.first(x)))


def counts_global(_: Any) -> None:
    global count
    count = 1


def appends_global(_: Any) -> None:
    kept.append(1)


def counts_class(_: Any) -> None:
    Counter.calls += 1


def counts_nested(block: Any) -> None:
    block.state["calls"][0] += 1


def draws(_: Any) -> None:
    torch.rand(1, generator=own)


def iterates() -> Any:
    numbers = itertools.count()
    return lambda _: next(numbers)


def counts_closure() -> Any:
    calls = 0

    def effect(_: Any) -> None:
        nonlocal calls
        calls += 1

    return effect


def fills_closure() -> Any:
    seen: set[int] = set()
    return lambda _: seen.add(len(seen))


def effects(effect: Any) -> Any:
    def make() -> Any:
        model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Sequential(Effect(effect), Effect(effect)))
        return model, lambda: model(torch.randn(32, 4)).pow(2).mean()

    return make


@pytest.mark.parametrize(
    ("effect", "why"),
    [
        (counts_global, "its code assigns count"),
        (appends_global, "it changes kept"),
        (counts_class, "it changes calls"),
        (counts_nested, "it changes Effect.state"),
        (draws, "random number generator of its own"),
        (iterates(), "uses an iterator"),
        (counts_closure(), "its code assigns calls"),
        (fills_closure(), "it changes seen"),
    ],
)
def test_checkpointing_is_refused_where_a_second_forward_would_have_an_effect(job: Any, effect: Any, why: str) -> None:
    plain = job(effects(lambda _: None))
    plain.train(3)
    plain.change("checkpoint", "all")  # without an effect the same block can be recomputed
    plain.close()
    j = job(effects(effect))
    j.train(3)
    with pytest.raises(Refused, match=why):
        j.change("checkpoint", "all")


def test_a_prediction_is_about_the_settings_in_force(job: Any, hosted: Hosted) -> None:
    j = job("gpt")
    j.link.passes = hosted.send
    j.train(3)
    full = hosted.predicted(j.settings, "all")["peak_allocated_bytes"]
    j.change("amp", "bf16")
    j.train(1)
    assert hosted.predicted(j.settings, "all") is None, "what was found is about a step without autocast"
    j.train(2)
    peak, half = j.peak(), hosted.predicted(j.settings, "all")["peak_allocated_bytes"]
    assert full < half < 0
    j.change("checkpoint", "all")
    j.train(3)
    assert j.peak() - peak == pytest.approx(half, rel=0.05)
    j.change("checkpoint", "off")
    j.change("amp", "off")
    j.train(3)
    assert hosted.predicted(j.settings, "all")["peak_allocated_bytes"] == full
    j.change("amp", "bf16")
    j.train(3)
    assert {"key": "amp", "value": "bf16"} in j.steps()[-1]["settings"]
    assert j.refused == []


def test_a_setting_that_no_step_runs_with_is_given_up_and_never_reported(job: Any) -> None:
    j = job("gpt")
    j.train(3)
    made = image(j.model)
    forward, blocks = j.forward, j.model.blocks
    j.model.blocks = torch.nn.ModuleList(copy.deepcopy(list(blocks)))  # the program goes on with others
    j.change("checkpoint", "all")
    j.train(4)
    assert all({"key": "checkpoint", "value": "off"} in step["settings"] for step in j.steps())
    assert [text for text in j.refused if "3 steps ran without it" in text]
    j.model.blocks = blocks
    assert image(j.model) == made and j.settings.values()[1] == ("checkpoint", "off") and forward


def test_the_loss_of_a_step_that_accumulates_gradients_is_not_shown(job: Any) -> None:
    model, once = jobs.gpt()
    j = job(lambda: (model, lambda: (once() + once()) / 2))
    j.train(4)
    assert not any("loss" in step for step in j.steps())
    j.forward = once
    j.train(3)
    assert j.steps()[-1]["loss"] == j.losses[-1]


def blocks(*kinds: str) -> Any:
    def make() -> Any:
        class Model(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.enter, self.blocks = torch.nn.Linear(4, 16), torch.nn.ModuleList(Block(k) for k in kinds)

            def forward(self, x: Any) -> Any:
                x = self.enter(x)
                for block in self.blocks:
                    x = block(x * 1)
                return x

        own = Model()
        return own, lambda: own(torch.randn(32, 4)).pow(2).mean()

    return make


def hooked() -> Any:
    model, forward = blocks("", "")()
    for block in model.blocks:
        block.first.register_forward_hook(lambda *_: None)
    return model, forward


def replaced() -> Any:
    model, forward = blocks("", "")()
    for block in model.blocks:
        block.forward = block.forward
    return model, forward


def flat() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Linear(16, 4))
    return model, lambda: model(torch.randn(8, 4)).pow(2).mean()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (blocks("custom", "custom"), "DoubledBackward"),
        (blocks("attribute", "attribute"), "changes Block.calls"),
        (blocks("buffer", "buffer"), "changes its buffers"),
        (blocks("random", "random"), "random numbers from Python"),
        (blocks("numpy", "numpy"), "random numbers from Python or NumPy"),
        (blocks("checkpointed", "checkpointed"), "already recomputes it"),
        (blocks("reentrant", "reentrant"), "already recomputes it"),
        (blocks("changed", "changed"), "changed in place"),
        (hooked, "has hooks, which would run twice"),
        (replaced, "the program has replaced its forward"),
        (flat, "no repeated blocks"),
    ],
)
def test_checkpointing_is_refused_with_the_reason(job: Any, make: Any, why: str) -> None:
    if why.endswith("NumPy"):
        pytest.importorskip("numpy").random.rand()
    j = job(make)
    j.train(3)
    with pytest.raises(Refused, match=why):
        j.change("checkpoint", "all")
    j.train(1)
    assert not any(isinstance(module.__dict__.get(FORWARD), ReplacedForward) for module in j.model.modules())


def test_a_block_that_cannot_be_computed_again_is_left_out(job: Any) -> None:
    j = job(blocks("", "buffer", ""))
    j.train(3)
    j.change("checkpoint", "all")
    j.train(2)
    assert [FORWARD in block.__dict__ for block in j.model.blocks] == [True, False, True]
    about = next(option["about"] for option in j.settings.options() if option["key"] == "checkpoint")
    assert "possible for 2 of 3, but not for blocks.1: its Block changes its buffers" in about


def test_nothing_is_changed_before_a_step_was_looked_at(job: Any) -> None:
    j = job("gpt")
    for key, value in (("checkpoint", "all"), ("amp", "bf16")):
        with pytest.raises(Refused, match="no step has been measured yet"):
            j.change(key, value)


def test_half_of_what_is_saved_is_computed_again(job: Any, hosted: Hosted) -> None:
    j = job("gpt")
    j.link.passes = hosted.send
    j.train(3)
    activations, predicted = j.activations(), hosted.predicted(j.settings, "half")
    j.change("checkpoint", "half")
    j.train(3)
    assert sum(FORWARD in block.__dict__ for block in j.model.blocks) == 2
    assert j.activations() - activations == pytest.approx(predicted["activation_bytes"], rel=0.05)


def test_a_module_is_copied_and_pickled_without_what_stands_in(job: Any) -> None:
    j = job("gpt")
    j.train(3)
    model, names = j.model, list(j.model.state_dict())
    j.change("checkpoint", "all")
    j.train(1)
    block = model.blocks[0]
    assert list(model.state_dict()) == names
    assert type(block) is jobs.train.Block
    assert inspect.signature(block.forward) == inspect.signature(jobs.train.Block.forward.__get__(block))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        forward = other.blocks[0].forward
        assert forward.__func__ is jobs.train.Block.forward and forward.__self__ is other.blocks[0]
    code = "import sys, pickle; sys.path.insert(0, sys.argv[1]); sys.path.insert(0, sys.argv[2])\n"
    code += "m = pickle.load(sys.stdin.buffer); import torch; x = torch.ones(1, 3, dtype=int); m(x, x)\n"
    code += "assert not any(n.startswith('memtop') for n in sys.modules)"
    folders = [str(Path(jobs.train.__file__).parent), str(Path(torch.__file__).parents[1])]
    subprocess.run([sys.executable, "-c", code, *folders], input=pickle.dumps(model), check=True)


def test_a_model_is_not_checkpointed_where_nothing_is_kept(job: Any) -> None:
    j = job("gpt")
    j.train(3)
    j.change("checkpoint", "all")
    j.train(1)
    ran = []
    handle = j.model.blocks[0].norm_1.register_forward_hook(lambda *_: ran.append(1))
    with torch.no_grad():
        j.forward()
    j.model.eval()
    j.forward().backward()
    handle.remove()
    assert ran == [1, 1]


def test_mixed_precision_comes_and_goes(job: Any) -> None:
    plain = job("gpt", watched=False)
    plain.train(6)
    j = job("gpt")
    j.train(3)
    made, activations = image(j.model), j.activations()
    j.change("amp", "bf16")
    j.train(3)
    assert j.activations() < activations
    assert j.losses[:3] == plain.losses[:3] and j.losses[4:] != plain.losses[4:]
    assert j.losses == pytest.approx(plain.losses, rel=0.02)
    tokens = torch.zeros(1, 3, dtype=torch.long)
    assert j.model(tokens, tokens)[0].dtype is torch.float32
    j.change("amp", "off")
    j.train(1)
    assert image(j.model) == made


def mixed() -> Any:
    model, _ = jobs.gpt()

    def forward() -> Any:
        tokens = torch.randint(97, (2, 9))
        with torch.autocast("cpu", torch.bfloat16):
            return model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())[1]

    return model, forward


def halved() -> Any:
    model, _ = blocks("", "")()
    model.to(torch.bfloat16)
    return model, lambda: model(torch.randn(32, 4, dtype=torch.bfloat16)).float().pow(2).mean()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (mixed, "sets mixed precision itself: bfloat16"),
        (halved, "bfloat16 parameters"),
        (blocks("custom", "custom"), "DoubledBackward"),
    ],
)
def test_mixed_precision_is_refused_with_the_reason(job: Any, make: Any, why: str) -> None:
    j = job(make)
    j.train(3)
    with pytest.raises(Refused, match=why):
        j.change("amp", "bf16")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("OptimizedModule", "compiled"),
        ("ScriptModule", "TorchScript"),
        ("FullyShardedDataParallel", "FSDP"),
        ("FSDPModule", "FSDP"),
        ("DataParallel", "DataParallel"),
        ("DeepSpeedEngine", "DeepSpeed"),
    ],
)
def test_models_that_others_run_are_left_alone(job: Any, name: str, why: str) -> None:
    made, _ = blocks("", "")()
    wrapper = type(name, (torch.nn.Module,), {"forward": lambda self, x: self.module(x)})()
    wrapper.module = made
    j = job(lambda: (wrapper, lambda: wrapper(torch.randn(32, 4)).pow(2).mean()))
    j.train(3)
    for key, value in (("checkpoint", "all"), ("amp", "bf16")):
        with pytest.raises(Refused, match=why):
            j.change(key, value)
    type(wrapper).__name__ = "Ended"  # PyTorch 2.1 keeps it for a while, and later tests must not see it as a model


def test_a_compiled_forward_is_left_alone(job: Any) -> None:
    made, forward = blocks("", "")()
    j = job(lambda: (made, forward))
    j.train(3)
    made._compiled_call_impl = made._call_impl
    j.train(1)
    with pytest.raises(Refused, match="compiled"):
        j.change("checkpoint", "all")


def test_garbage_is_collected_once(job: Any) -> None:
    j = job("gpt")
    j.train(3)
    ring: list[Any] = []
    ring.append(ring)
    gone = weakref.ref(j.model.tokens.weight.new_zeros(1))  # another object with a weak reference
    before = gc.get_stats()[2]["collections"]
    j.change("action", "collect-garbage")
    j.train(1)
    assert gc.get_stats()[2]["collections"] > before and gone() is None
    j.train(2)
    shown = [[s["value"] for s in step["settings"] if s["key"] == "action"] for step in j.steps()]
    assert shown == [[]] * (len(shown) - 2) + [["collect-garbage"], []]


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("action", "empty-cache", "takes collect-garbage"),
        ("amp", "fp16", "takes off, bf16"),
        ("optimizer", "lion", "no setting optimizer"),
    ],
)
def test_what_a_program_cannot_do_is_refused(job: Any, key: str, value: str, why: str) -> None:
    j = job("gpt")
    j.train(2)
    with pytest.raises(Refused, match=why):
        j.change(key, value)


def test_a_read_only_program_changes_nothing(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMTOP_READ_ONLY", "1")
    j = job("gpt")
    j.train(3)
    assert j.settings.read_only
    with pytest.raises(Refused, match="MEMTOP_READ_ONLY"):
        j.settings.change("checkpoint", "all")


def test_leaving_undoes_what_was_changed(job: Any) -> None:
    j = job("gpt")
    j.train(3)
    made = image(j.model)
    j.change("checkpoint", "all")
    j.change("amp", "bf16")
    j.train(2)
    j.watch.close()
    j.train(1)
    assert image(j.model) == made


def test_a_setting_begins_with_the_step_that_was_named(job: Any) -> None:
    j = job("gpt")
    j.train(2)
    j.settings.change("checkpoint", "all", 6)
    with pytest.raises(Refused, match="step 3 has begun already"):
        j.settings.change("amp", "bf16", 3)
    j.train(6)
    shown = {s["step"]: next(v["value"] for v in s["settings"] if v["key"] == "checkpoint") for s in j.steps()}
    assert [shown[step] for step in (4, 5, 6, 7)] == ["off", "off", "all", "all"]


@pytest.mark.parametrize(
    ("value", "chosen", "why"),
    [
        pytest.param("layers=blocks.1", [False, True, False, False], "", id="one block"),
        pytest.param("layers=blocks.0+blocks.2", [True, False, True, False], "", id="two blocks"),
        pytest.param("layers=blocks", [True, True, True, True], "", id="what contains all of them"),
        pytest.param(
            "layers=blocks.1.mlp", [False] * 4, "blocks.1.mlp is a part of blocks.1: choose that", id="a part of one"
        ),
        pytest.param("layers=head", [False] * 4, "head is no repeated block", id="no block"),
    ],
)
def test_blocks_are_recomputed_by_name(job: Any, hosted: Hosted, value: str, chosen: list[bool], why: str) -> None:
    j = job("gpt")
    j.link.passes = hosted.send
    j.train(3)
    activations, predicted = j.activations(), hosted.predicted(j.settings, value)
    j.change("checkpoint", value)
    j.train(3)
    assert [FORWARD in block.__dict__ for block in list(j.model.blocks)[:4]] == chosen
    assert j.refused == ([why] if why else [])
    assert (predicted is None) == bool(why)
    if predicted is not None:
        assert j.activations() - activations == pytest.approx(predicted["activation_bytes"], rel=0.05)
        assert {"key": "checkpoint", "value": value} in j.steps()[-1]["settings"]
