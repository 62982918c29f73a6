"""Programs without an optimizer: the calls of their model are steps while a viewer watches, and only then."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402
from test_account import Job, call_in_a_thread  # noqa: E402
from test_watch import bytes_of, steps_of  # noqa: E402

from memtop.memory.device_ledger import DeviceLedger  # noqa: E402
from memtop.memory.pools import Pools  # noqa: E402
from memtop.watch import model_calls  # noqa: E402
from memtop.watch.sampling import Sampling  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402


class Model(torch.nn.Module):  # type: ignore[misc]
    """Computes with two layers and keeps what the first one returned, as a cache does."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 8)

    def forward(self, x: Any, fail: bool = False) -> Any:
        if fail:
            raise ValueError("asked to fail")
        return self.second(self.first(x))


@pytest.fixture
def watch(monkeypatch: Any) -> Iterator[Watch]:
    gc.collect()  # optimizers of other tests
    monkeypatch.setattr(model_calls, "PATIENCE_NS", 0)
    watch = Watch(Kept())
    watch.sampling = Sampling(share=1.0, credit_ns=1 << 60)  # every step
    yield watch
    watch.close()


def serve(model: Any, calls: int) -> None:
    with torch.no_grad():
        for _ in range(calls):
            model(torch.randn(2, 8))


def is_plain(model: Any) -> bool:
    hooks = torch.nn.modules.module
    return "forward" not in vars(model) and not hooks._global_forward_pre_hooks and not hooks._global_forward_hooks


def watched(watch: Watch) -> Any:
    """Return a model whose calls are steps from the next one on."""
    model = Model().eval()
    call_in_a_thread(lambda: watch.want(True))
    serve(model, 1)
    return model


def test_calls_are_steps_while_a_viewer_watches(watch: Watch) -> None:
    model = watched(watch)
    serve(model, 3)
    steps = steps_of(watch)
    assert sorted(steps) == [1, 2, 3]
    assert [layer["name"] for layer in steps[1]["layers"]] == ["", "first", "second"]
    assert all({"key": "steps", "value": "calls of Model"} in step["settings"] for step in steps.values())
    held = {entry["name"]: entry["bytes"] for entry in steps[3]["categories"]}
    assert held["parameter"] == bytes_of(model.parameters())


def test_a_calls_peak_has_what_its_layers_return(watch: Watch) -> None:
    model = watched(watch)
    serve(model, 2)
    step = steps_of(watch)[2]
    at_peak = {entry["name"]: entry["bytes"] for entry in step["categories_at_peak"]}
    assert at_peak["inference"] == 4 * 2 * (16 + 8)  # both results are alive when the second layer returns
    assert step["peak_allocated_bytes"] >= bytes_of(model.parameters()) + at_peak["inference"]


def test_without_a_viewer_nothing_is_in_the_program(watch: Watch) -> None:
    model = Model().eval()
    serve(model, 2)
    assert is_plain(model) and not steps_of(watch)


def test_when_the_viewer_has_gone_nothing_is_left(watch: Watch) -> None:
    model = watched(watch)
    serve(model, 2)
    assert "forward" in vars(model)
    call_in_a_thread(lambda: watch.want(False))
    serve(model, 1)
    assert is_plain(model)
    assert sorted(steps_of(watch)) == [1, 2]


def test_a_viewer_that_goes_within_a_call_leaves_nothing(watch: Watch) -> None:
    model = watched(watch)
    handle = model.first.register_forward_hook(lambda *_: call_in_a_thread(lambda: watch.want(False)) and None)
    serve(model, 1)
    handle.remove()
    serve(model, 1)
    assert is_plain(model)


def test_evaluation_in_training_makes_no_steps(watch: Watch) -> None:
    job = Job()
    call_in_a_thread(lambda: watch.want(True))
    serve(job.model, 3)  # before its first step
    job.step()
    job.model.eval()
    serve(job.model, 3)
    job.model.train()
    job.step()
    assert sorted(steps_of(watch)) == [1, 2]
    assert "forward" not in vars(job.model)


def test_training_without_an_optimizer_of_pytorchs_makes_no_steps(watch: Watch) -> None:
    model = watched(watch)
    model.train()
    model(torch.randn(2, 8)).sum().backward()
    model.eval()
    serve(model, 3)
    assert not steps_of(watch) and is_plain(model)


def test_a_call_within_a_call_and_one_of_another_model_are_no_steps(watch: Watch) -> None:
    model = watched(watch)
    serve(model, 1)
    other = Model().eval()
    call_in_a_thread(watch.devices)
    serve(other, 1)  # from here on the agent follows it too
    assert "forward" in vars(other)
    model.first.register_forward_hook(lambda *_: serve(other, 1))
    serve(other, 1)
    serve(model, 2)
    assert sorted(steps_of(watch)) == [1, 2, 3]


def test_from_an_optimizer_on_calls_are_no_steps(watch: Watch) -> None:
    model = watched(watch)
    watch.look._scanning = Sampling(share=1.0, credit_ns=1 << 60)  # every step
    serve(model, 1)
    optimizer = torch.optim.SGD(model.parameters())
    serve(model, 3)  # the first of them finds it
    assert sorted(steps_of(watch)) == [1, 2]
    assert is_plain(model)
    del optimizer


def test_calls_of_two_threads_at_once_are_one_step(watch: Watch) -> None:
    model = watched(watch)
    both = threading.Barrier(2, timeout=20)

    def wait(*_: Any) -> None:
        both.wait()

    model.first.register_forward_hook(wait)
    thread = threading.Thread(target=serve, args=(model, 1))
    thread.start()
    serve(model, 1)
    thread.join()
    assert sorted(steps_of(watch)) == [1]


def test_a_call_that_fails_ends_its_step(watch: Watch) -> None:
    model = watched(watch)
    with torch.no_grad(), pytest.raises(ValueError, match="asked to fail"):
        model(torch.randn(2, 8), fail=True)
    serve(model, 1)
    assert sorted(steps_of(watch)) == [1, 2]
    assert not torch.nn.modules.module._global_forward_hooks


def test_a_mistake_of_the_agent_does_not_fail_the_call(watch: Watch, monkeypatch: Any) -> None:
    model = watched(watch)
    monkeypatch.setattr(watch.measured, "tell", lambda *_, **__: 1 / 0)
    serve(model, 2)
    assert "ZeroDivisionError" in watch.guard.error and is_plain(model)


@pytest.mark.parametrize("replaced", [False, True])
def test_copies_and_pickles_of_a_watched_model_are_plain(watch: Watch, replaced: bool) -> None:
    model = Model().eval()
    if replaced:  # as Accelerate does
        model.forward = functools.partial(Model.forward, model)
    own = vars(model).get("forward")
    call_in_a_thread(lambda: watch.want(True))
    serve(model, 2)
    x = torch.randn(2, 8)
    with torch.no_grad():
        said = model(x)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert b"memtop" not in pickle.dumps(other).replace(b"test_serving", b"")
            assert torch.equal(other(x), said)
    call_in_a_thread(lambda: watch.want(False))
    serve(model, 1)
    assert vars(model).get("forward") is own


@pytest.fixture
def compiling() -> Iterator[None]:
    yield
    torch._dynamo.reset()  # which keeps the graph otherwise
    torch._dynamo.utils.counters.clear()  # for the other tests of this process, nothing was compiled


@pytest.mark.usefixtures("compiling")
def test_a_watched_model_can_still_be_compiled_whole(watch: Watch) -> None:
    model = watched(watch)
    serve(model, 1)
    x = torch.randn(2, 8)
    with torch.no_grad():
        said = model(x)
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        assert torch.equal(compiled(x), said)
        compiled(x)
    serve(model, 1)
    assert is_plain(model)


SERVERS = {
    "vLLM": """
class Object:
    num_free_blocks = 0

class Scheduler:
    def __init__(self):
        self.kv_cache_manager, pool = Object(), Object()
        self.kv_cache_manager.block_pool = pool
        pool.num_gpu_blocks, pool.free_block_queue = 65, Object()
        pool.free_block_queue.num_free_blocks = 40

    def schedule(self, *arguments):
        return arguments
""",
    "SGLang": """
class Object:
    pass

class Scheduler:
    def __init__(self):
        self.metrics_reporter, stats = Object(), Object()
        self.metrics_reporter.stats = stats
        stats.kv_used_tokens, stats.kv_evictable_tokens, stats.kv_available_tokens = 24, 10, 30

    def run_batch(self, *arguments):
        return arguments
""",
}
MODULES = {"vLLM": "vllm.v1.core.sched.scheduler", "SGLang": "sglang.srt.managers.scheduler"}
METHODS = {"vLLM": "schedule", "SGLang": "run_batch"}


class Driver:
    """Answers as the driver's management library."""

    def memory(self, card: Any) -> tuple[int, int]:
        return 100, 50

    def users(self, card: Any) -> list[Any]:
        return []


@pytest.mark.parametrize("server", SERVERS)
def test_the_counters_of_a_server_are_found_at_its_next_step(server: str, monkeypatch: Any) -> None:
    module = types.ModuleType(MODULES[server])
    exec(SERVERS[server], vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    scheduler, method = module.Scheduler(), vars(module.Scheduler)[METHODS[server]]
    unit = "blocks" if server == "vLLM" else "tokens"
    cards = DeviceLedger(Kept(), lambda: 0)
    cards._nvml, cards._found = Driver(), {0: 1}  # type: ignore[assignment]
    for _ in range(2):  # both ask before there is a step
        gauge = cards._gauge(0, 40, None)
        assert gauge and "cache" not in gauge["ledger"]
    assert getattr(scheduler, METHODS[server])("batch") == ("batch",)
    assert vars(module.Scheduler)[METHODS[server]] is method  # as it was
    gauge = cards._gauge(0, 40, None)
    assert gauge and gauge["ledger"]["cache"] == {"server": server, "used": 24, "size": 64, "unit": unit}
    if server == "vLLM":
        scheduler.kv_cache_manager.block_pool.free_block_queue = None  # as in a version with other fields
    else:
        scheduler.metrics_reporter.stats.kv_used_tokens = None
    assert cards._pools.use() is None
    del scheduler
    gc.collect()
    assert cards._pools._known() is None  # nothing of the program is kept alive


def test_a_scheduler_of_another_version_works_as_before(monkeypatch: Any) -> None:
    module = types.ModuleType(MODULES["vLLM"])
    exec("class Scheduler:\n    def schedule(self):\n        return 7\n", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    method, pools = vars(module.Scheduler)["schedule"], Pools()
    assert pools.use() is None
    assert module.Scheduler().schedule() == 7
    assert vars(module.Scheduler)["schedule"] is method and pools.use() is None
