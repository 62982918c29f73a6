"""Effects that watching must not have on a job."""

from __future__ import annotations

import copy
import io
import os
import pickle
import random
import signal
import threading
import traceback
import types
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402
from subjects import gpt  # noqa: E402
from test_categories import job_of  # noqa: E402
from test_watch import train_steps  # noqa: E402

from memtop import agent  # noqa: E402
from memtop.watch.sampling import Sampling  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402


@pytest.fixture
def watch() -> Any:
    watch = Watch(Kept())
    watch.sampling = Sampling(share=1.0, credit_ns=1 << 60)  # every step
    yield watch
    watch.close()


@pytest.fixture
def watched(watch: Watch) -> Watch:
    watch.want(True)
    train_steps(job_of(gpt), 2)  # from the second step on the hooks are there
    assert torch.nn.modules.module._global_forward_hooks
    return watch


def test_random_state_is_the_same(watch: Watch) -> None:
    random.seed(1)
    train_steps(job_of(gpt), 4)
    alone = random.getstate(), torch.random.get_rng_state()
    random.seed(1)
    watch.want(True)
    train_steps(job_of(gpt), 4)
    assert random.getstate() == alone[0]
    assert torch.equal(torch.random.get_rng_state(), alone[1])


def test_modules_are_copied_and_saved_as_without_an_agent(watched: Watch) -> None:
    subject = gpt()
    optimizer = subject.optimizer()
    for _ in range(3):
        subject.loss_of(subject.model, subject.batch())[0].backward()
        optimizer.step()
    state = {name: value.clone() for name, value in subject.model.state_dict().items()}
    file = io.BytesIO()
    torch.save(subject.model, file)
    file.seek(0)
    saved = torch.load(file, weights_only=False)
    for other in (copy.deepcopy(subject.model), pickle.loads(pickle.dumps(subject.model)), saved):
        assert all(torch.equal(value, state[name]) for name, value in other.state_dict().items())
        assert all(not vars(part).get("_forward_hooks") for part in other.modules())
    assert b"memtop" not in pickle.dumps(subject.model)
    assert b"memtop" not in pickle.dumps(optimizer)


class Fails(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise ValueError("a model's own mistake")


def trace_of_failure() -> list[str]:
    try:
        torch.nn.Sequential(torch.nn.Linear(2, 2), Fails())(torch.randn(1, 2))
    except ValueError as error:
        return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    raise AssertionError("it did not fail")


def test_a_model_that_fails_does_so_without_a_line_of_the_agents(watched: Watch) -> None:
    files = trace_of_failure()
    assert not [file for file in files if "memtop/" in file]


def test_a_child_that_is_forked_while_a_thread_of_the_agent_is_busy_trains(watched: Watch, monkeypatch: Any) -> None:
    monkeypatch.setattr(agent, "_agent", types.SimpleNamespace(watch=watched))
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with watched.registry.lock:
            holds.set()
            done.wait(60)

    threading.Thread(target=hold).start()
    holds.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        hooks = torch.nn.modules.module
        train_steps(job_of(gpt), 3)
        os._exit(len(hooks._global_forward_hooks) + len(hooks._global_forward_pre_hooks))
    _, status = os.waitpid(child, 0)
    done.set()
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    assert torch.nn.modules.module._global_forward_hooks


@pytest.mark.real
def test_a_compiled_model_is_not_compiled_again(watch: Watch) -> None:
    counters = pytest.importorskip("torch._dynamo.utils", reason="needs torch.compile").counters

    def run(watched: bool) -> dict[str, Any]:
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(1)
        subject = gpt()
        model = torch.compile(subject.model, backend="eager")
        optimizer = subject.optimizer()
        for step in range(8):
            if watched and step in (2, 5):
                watch.want(step == 2)
            subject.loss_of(model, subject.batch())[0].backward()
            optimizer.step()
            optimizer.zero_grad()
        return {name: dict(values) for name, values in counters.items() if name in ("stats", "graph_break", "frames")}

    try:
        alone = run(False)
    except RuntimeError as error:
        pytest.skip(f"torch.compile does not run here: {error}")
    try:
        assert run(True) == alone
    finally:
        counters.clear()  # the agent recognises programs that use torch.compile by these
