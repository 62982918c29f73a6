"""The agent's numbers for a model, compared with the test's own counts."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from torch.optim.optimizer import register_optimizer_step_post_hook  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
import train  # noqa: E402
from kept import Kept, Message  # noqa: E402

from memtop.hooks.leading_optimizer import LeadingOptimizer  # noqa: E402
from memtop.link.queue import STEP  # noqa: E402
from memtop.safety.guard import Guard  # noqa: E402
from memtop.watch import watch as watching  # noqa: E402
from memtop.watch.sampling import Sampling  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402


def gpt() -> tuple[Any, Any]:
    model = train.GPT(vocabulary=97, length=16, layers=2, width=32, heads=4)

    def batch() -> tuple[Any, Any]:
        tokens = torch.randint(97, (3, 17))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    return model, lambda: (model(*batch())[1], [])


def convolutions() -> tuple[Any, Any]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Dropout(0.2), torch.nn.Linear(8 * 15 * 15, 10),
    )  # fmt: skip
    measure = torch.nn.CrossEntropyLoss()
    return model, lambda: (measure(model(torch.randn(4, 3, 32, 32)), torch.randint(10, (4,))), [])


MODELS = {"a GPT with its loss inside": gpt, "convolutions with a loss module": convolutions}


def train_steps(make: Any, steps: int, before_step: Any = None, after_step: Any = None) -> list[float]:
    torch.manual_seed(1)
    model, forward = make()
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for step in range(1, steps + 1):
        if before_step:
            before_step(step, model, optimizer)
        loss, _ = forward()
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if after_step:
            after_step(step, model, optimizer)
        del loss
    return losses


def await_no_model() -> None:
    """Wait until no model of another test is alive: a thread that ends late may hold one, and its bytes would count."""
    end = time.monotonic() + 10
    gc.collect()
    while (left := models()) and time.monotonic() < end:
        time.sleep(0.01)
        gc.collect()
    assert not left


def models() -> list[str]:
    return [type(thing).__name__ for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]


@pytest.fixture
def watch() -> Any:
    await_no_model()
    watch = Watch(Kept())
    watch.sampling = Sampling(credit_ns=10**15)  # every step is looked at, however slow the machine is
    watch.want(True)
    yield watch
    watch.close()


def steps_of(watch: Watch) -> dict[int, Any]:
    entries = watch.link.entries
    return {e.data["step"]: e.data for e in entries if isinstance(e, Message) and e.type == STEP}


def bytes_of(tensors: Any) -> int:
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def saved_by_layer(make: Any) -> dict[str, int]:
    """Count what each module saves in the second step: each storage once, where it is first saved, no weights."""
    counts: dict[str, int] = {}
    running: list[str] = []
    seen: dict[int, Any] = {}

    def count(step: int, model: Any, _: Any) -> None:
        if step != 2:
            return
        weights = {p.untyped_storage().data_ptr() for p in [*model.parameters(), *model.buffers()]}

        def pack(tensor: Any) -> Any:
            address = tensor.untyped_storage().data_ptr()
            target = not tensor.dtype.is_floating_point and not running
            if not target and address not in weights | inputs | set(seen):
                seen[address] = tensor.detach()
                counts[running[-1]] = counts.get(running[-1], 0) + tensor.untyped_storage().nbytes()
            return tensor.detach()

        inputs: set[int] = set()

        def given(_: Any, arguments: Any, named: Any) -> None:
            inputs.update(t.untyped_storage().data_ptr() for t in (*arguments, *named.values()) if t.grad_fn is None)

        model.register_forward_pre_hook(given, with_kwargs=True)
        names = {id(module): name for name, module in model.named_modules()}

        def before(module: Any, arguments: Any) -> None:
            if not running:  # also of a loss that is no part of the model
                given(module, arguments, {})
            running.append(names.get(id(module), type(module).__name__))

        def after(*_: Any) -> None:
            running.pop()

        torch.nn.modules.module.register_module_forward_pre_hook(before)
        torch.nn.modules.module.register_module_forward_hook(after)
        torch._C._autograd._push_saved_tensors_default_hooks(pack, lambda t: t)

    def leave(step: int, *_: Any) -> None:
        if step == 2:
            torch._C._autograd._pop_saved_tensors_default_hooks()
            torch.nn.modules.module._global_forward_pre_hooks.clear()
            torch.nn.modules.module._global_forward_hooks.clear()

    train_steps(make, 2, count, leave)
    return counts


class OfAModel:
    def test_losses_are_the_same_to_the_bit(self, make: Any, request: Any) -> None:
        alone = train_steps(make, 6)
        watch = request.getfixturevalue("watch")
        assert train_steps(make, 6) == alone
        assert [data.get("loss") for data in steps_of(watch).values()][1:] == alone[1:]

    def test_saved_bytes_of_each_layer_are_those_that_hooks_count(self, make: Any, request: Any) -> None:
        counted = saved_by_layer(make)
        watch = request.getfixturevalue("watch")
        train_steps(make, 3)
        layers = steps_of(watch)[2]["layers"]
        assert {layer["name"]: layer["saved_bytes"] for layer in layers if layer["saved_bytes"]} == counted

    def test_what_lasts_is_counted_to_the_byte(self, make: Any, watch: Watch) -> None:
        found: dict[str, int] = {}

        def count(step: int, model: Any, optimizer: Any) -> None:
            if step == 3:
                found["parameter"] = bytes_of([*model.parameters(), *model.buffers()])
                found["gradient"] = bytes_of(p.grad for p in model.parameters() if p.grad is not None)
                found["optimizer"] = bytes_of(t for state in optimizer.state.values() for t in state.values())

        train_steps(make, 4, after_step=count)
        says = {amount["name"]: amount["bytes"] for amount in steps_of(watch)[3]["categories"]}
        assert {name: says[name] for name in found} == found

    def test_a_step_leaves_nothing_behind(self, make: Any, watch: Watch) -> None:
        train_steps(make, 6)
        steps = steps_of(watch)
        assert steps[4]["allocated_bytes"] == steps[6]["allocated_bytes"]
        assert steps[4]["peak_allocated_bytes"] == pytest.approx(steps[6]["peak_allocated_bytes"], abs=8)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
class TestOfAModel(OfAModel):
    pass


def test_a_viewer_is_told_whether_a_whole_step_was_looked_at(watch: Watch) -> None:
    told = [watch.looking]
    train_steps(gpt, 3, after_step=lambda *_: told.append(watch.looking))
    assert told == [True, True, False, False]  # the first step had begun without hooks
    watch.want(False)
    assert watch.looking


def saved_in_parts(watch: Watch, parts: int) -> list[dict[str, Any]]:
    """Return the layers of a step that runs a model so many times before its optimizer steps."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters())
    for _ in range(3):
        for _ in range(parts):
            model(torch.randn(32, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    layers: list[dict[str, Any]] = list(steps_of(watch).values())[-1]["layers"]
    return layers


def test_what_parts_of_a_step_save_one_after_the_other_is_not_added_up(watch: Watch) -> None:
    once, four = saved_in_parts(watch, 1), saved_in_parts(watch, 4)
    assert [layer["saved_bytes"] for layer in four] == [layer["saved_bytes"] for layer in once]
    assert sum(layer["saved_bytes"] for layer in once) >= 2 * 32 * 16 * 4
    assert {layer["calls"] for layer in four} == {4}


def test_who_asks_soon_gets_the_same_gauge(watch: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(watching, "FRESH_NS", 1 << 60)
    gauge = watch.gauge_now()
    assert watch.gauge() is gauge
    monkeypatch.setattr(watching, "FRESH_NS", 0)
    assert watch.gauge() is not gauge


def test_without_a_viewer_nothing_is_hooked() -> None:
    watch = Watch(Kept())
    try:
        train_steps(gpt, 2)
        assert not torch.nn.modules.module._global_forward_hooks
        assert not watch.registry.holdings()
        assert {type(entry) for entry in watch.link.entries} == {Message}, "steps are noted, and no memory"
    finally:
        watch.close()


def test_when_the_last_viewer_has_gone_nothing_is_left() -> None:
    watch = Watch(Kept())
    watch.want(True)
    model, forward = gpt()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(4):
        forward()[0].backward()
        optimizer.step()
        if step == 2:
            watch.want(False)
    assert not torch.nn.modules.module._global_forward_hooks
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()
    assert all(not (p._post_accumulate_grad_hooks or {}) for p in model.parameters())
    watch.close()


def test_a_list_that_grows_is_named_by_the_line_that_fills_it(watch: Watch) -> None:
    kept = []
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        out = model(torch.randn(4, 8))
        out.sum().backward()
        kept.append(out.detach() + 1)
        line = sys._getframe().f_lineno - 1
        optimizer.step()
    tables = watch.link.tables
    held = [
        a
        for a in watch.link.alive.values()
        if tables.strings.entries[tables.notes.entries[a.note].role] == f"kept by kept[…], test_watch.py:{line}"
    ]
    assert len(held) >= 3
    for alive in held:
        (frame,) = tables.stacks.entries[alive.stack]
        assert tables.frames.entries[frame].line == line


def test_torch_func_works_while_hooks_are_there(watch: Watch) -> None:
    def step(step: int, *_: Any) -> None:
        torch.func.vmap(lambda x: x * 2)(torch.randn(3))
        torch.func.grad(lambda x: (x * x).sum())(torch.randn(3))

    train_steps(gpt, 4, before_step=step)
    assert any("layers" in data for data in steps_of(watch).values())


def test_a_tensor_changed_in_place_fails_as_without_an_agent(watch: Watch) -> None:
    train_steps(gpt, 2)  # the hooks are there
    x = torch.randn(3, requires_grad=True)
    y = x * 1
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_steps_go_on_with_another_optimizer_when_the_first_has_gone(watch: Watch) -> None:
    train_steps(gpt, 2)
    gc.collect()
    train_steps(gpt, 2)
    assert watch.step == 4


def test_another_optimizer_leads_when_the_first_has_made_none_of_the_last_nine_steps() -> None:
    leader = LeadingOptimizer()
    first, second = (torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1) for _ in range(2))
    assert leader.leads(first)
    assert [leader.leads(second) for _ in range(11)] == [False] * 9 + [True] * 2
    assert not leader.leads(first)


def test_layers_are_those_of_the_thread_that_trains(watch: Watch) -> None:
    other = torch.nn.Linear(2, 2)

    class Forward(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            beside = threading.Thread(target=other, args=(x,))
            beside.start()
            beside.join()
            return x * 2

    layers = watch.look.layers
    layers.on()
    try:
        Forward()(torch.ones(1, 2))
        assert [(row["class"], row["calls"]) for row in layers.take()] == [("Forward", 1)]
    finally:
        layers.off()


def test_what_is_saved_again_is_not_counted_again(watch: Watch) -> None:
    class Checkpointed(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())

        def forward(self, x: Any) -> Any:
            return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)

    def make() -> tuple[Any, Any]:
        model = Checkpointed()
        return model, lambda: (model(torch.randn(4, 8)).sum(), [])

    train_steps(make, 3)
    rows = {row["name"]: row for row in steps_of(watch)[2]["layers"]}
    assert rows["inner.0"]["checkpointed"] and rows["inner.1"]["checkpointed"]
    assert [rows["inner.0"]["saved_bytes"], rows["inner.1"]["saved_bytes"]] == [0, 0]


def test_what_is_held_by_the_programs_names_is_let_go_with_them(watch: Watch) -> None:
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        batch = torch.randn(4, 8)
        gone = weakref.ref(batch)
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
    del batch, loss
    assert gone() is None


def test_a_first_look_goes_through_the_interpreter_once(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[int] = []
    scan = watch.look.gathering.scan
    monkeypatch.setattr(watch.look.gathering, "scan", lambda: (scans.append(watch.step), scan()))
    train_steps(gpt, 1)
    assert watch.look.on and scans == [1]


PARTS = ("models.add", "registry.see", "look.layers.take", "look.names.show", "look.gathering.optimizer")


@pytest.mark.parametrize("part", PARTS)
def test_a_mistake_of_the_agent_is_none_of_the_program(part: str, watch: Watch) -> None:
    reasons: list[str] = []
    watch.guard.failed = reasons.append

    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("a mistake")

    def break_it(step: int, *_: Any) -> None:
        if step == 3:
            owner, _, name = part.rpartition(".")
            setattr(attrgetter(owner)(watch), name, fails)

    assert train_steps(gpt, 6, before_step=break_it) == train_steps(gpt, 6)
    assert len(reasons) == 1
    assert reasons[0].startswith("ValueError at test_watch.py")
    assert not torch.nn.modules.module._global_forward_hooks
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()


def test_after_a_mistake_nothing_of_the_agent_is_called() -> None:
    guard, told, called = Guard(), [], []
    guard.failed = told.append
    works, fails = guard(lambda: called.append(1)), guard(lambda: 1 / 0)
    for function in (works, fails, fails, works):
        function()
    assert called == [1]
    assert told == [guard.error]


CACHE: dict[int, Any] = {}


def remember(step: int, value: Any) -> None:
    CACHE[step] = value


def test_what_a_global_and_a_closure_keep_is_named_by_the_lines_that_fill_them(watch: Watch) -> None:
    calls = []

    def keep(step: int, *_: Any) -> None:
        remember(step, torch.zeros(100))
        values = torch.zeros(200)
        calls.append(lambda: values)

    train_steps(gpt, 4, before_step=keep)
    CACHE.clear()
    tables, found = watch.link.tables, set()
    for alive in watch.link.alive.values():
        role = tables.strings.entries[tables.notes.entries[alive.note].role]
        for frame in tables.stacks.entries[alive.stack][:1]:
            found.add((role, tables.frames.entries[frame].line) if frame > 0 else (role, 0))
    line = remember.__code__.co_firstlineno + 1
    assert (f"kept by CACHE[…], test_watch.py:{line}", line) in found
    assert {line for role, line in found if "kept by before_step.calls[…]" in role} == {
        keep.__code__.co_firstlineno + 3
    }


def test_an_agent_that_leaves_breaks_no_step() -> None:
    """A hook that follows the agent's is still called in the step in which the agent leaves, and in all later steps."""
    watch = Watch(Kept())
    called = []
    handle = register_optimizer_step_post_hook(lambda *_: called.append(1))
    try:
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], 0.1)
        for _ in range(4):
            weight.sum().backward()
            optimizer.step()
            if len(called) == 2:
                leaving = threading.Thread(target=watch.close)
                leaving.start()
                leaving.join()
    finally:
        handle.remove()
    assert len(called) == 4


def test_a_step_is_taken_up_by_one_thread() -> None:
    """The agent does not wait for an optimizer that another thread steps meanwhile."""
    watch = Watch(Kept())
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], 0.1)
    with watch.taking:
        optimizer.step()
        assert watch.step == 0
    optimizer.step()
    assert watch.step == 1
    watch.close()
