"""The agent's numbers for models that people train, compared with the tests' own counts, to the byte."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from counting import Counting, flat, storages, train  # noqa: E402
from subjects import SUBJECTS, gpt2, marks_of  # noqa: E402

from memtop import stepping  # noqa: E402
from memtop.journal import STEP, Journal, Message  # noqa: E402
from memtop.watch import Watch  # noqa: E402

AT = 3  # the step that is looked at


class Asking:
    """Asks the agent whenever `Counting` counts."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.says: dict[str, dict[str, int]] = {}

    def forward(self, *_: Any) -> Any:
        return contextlib.nullcontext()

    def now(self, moment: str, *_: Any) -> None:
        self._watch.registry.settle()
        self.says[moment] = dict(self._watch.memory.categories)


@pytest.fixture
def watch() -> Any:
    gc.collect()  # models of other tests
    watch = Watch(Journal())
    watch.sampling.always = True
    yield watch
    watch.close()
    assert left_behind() == []


def left_behind() -> list[str]:
    """Return the names of the agent's functions that PyTorch still calls."""
    module = torch.nn.modules.module
    hooks = {
        "before forward": module._global_forward_pre_hooks, "after forward": module._global_forward_hooks,
        "after a step": stepping._listeners,  # the hook itself stays, see `stepping`
    }  # fmt: skip
    return [name for name, kept in hooks.items() if kept]


def steps_of(watch: Watch, position: int) -> dict[int, Any]:
    entries = watch.journal.since(position).entries
    return {e.data["step"]: e.data for e in entries if isinstance(e, Message) and e.type == STEP}


@pytest.fixture(params=[pytest.param(make, marks=marks_of(make)) for make in SUBJECTS.values()], ids=SUBJECTS.keys())
def make(request: Any) -> Any:
    return request.param


def test_categories_are_counted_to_the_byte(make: Any, watch: Watch) -> None:
    counting, asking = Counting(), Asking(watch)
    train(make, AT, AT, counting)
    gc.collect()
    watch.want(True)
    train(make, AT, AT, asking)
    for moment, counted in (("forward", counting.count.forward), ("after", counting.count.after)):
        says = asking.says[moment]
        assert {name: says.get(name, 0) for name in counted} == counted, moment


def test_saved_bytes_of_each_layer_are_those_that_hooks_count(make: Any, watch: Watch) -> None:
    counting = Counting()
    train(make, AT, AT, counting)
    gc.collect()
    began = watch.journal.position
    watch.want(True)
    train(make, AT)
    *_, layers = [step["layers"] for step in steps_of(watch, began).values() if "layers" in step]
    assert {layer["name"]: layer["saved_bytes"] for layer in layers if layer["saved_bytes"]} == counting.count.saved


def test_losses_are_the_same_to_the_bit(make: Any, watch: Watch) -> None:
    not_attached = train(make, 6)
    began = watch.journal.position
    watch.want(True)
    attached = train(make, 6)
    watch.close()
    assert train(make, 6) == not_attached == attached
    assert [step.get("loss") for step in steps_of(watch, began).values()][1:] == attached[1:]


def test_what_generation_caches_is_called_a_cache(watch: Watch) -> None:
    model = gpt2().eval()
    words = torch.randint(61, (2, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    watch.want(True)
    optimizer.step()
    with torch.no_grad():
        first = model(words, use_cache=True)
        model(words[:, :1], past_key_values=first.past_key_values, use_cache=True)
    watch.registry.settle()
    keys_and_values = storages(flat(first.past_key_values))
    assert keys_and_values
    assert watch.memory.categories["kv-cache"] == sum(keys_and_values.values())


@pytest.mark.real
def test_ranks_that_train_together_are_counted_to_the_byte() -> None:
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*launch, str(Path(__file__).with_name("ranks.py"))], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 0: [" in done.stdout and "rank 1: [" in done.stdout, done.stdout + done.stderr
