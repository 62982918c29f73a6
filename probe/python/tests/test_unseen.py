"""The program's modes, its kinds of tensors and its profiles see the same with an agent that looks as without one."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept, Message  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_map_only  # noqa: E402

from memtop.hooks.layers import number  # noqa: E402
from memtop.link.queue import STEP  # noqa: E402
from memtop.watch.sampling import Sampling  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402

seen: Counter[str] = Counter()


class Functions(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen[f"function {getattr(function, '__name__', function)}"] += 1
        return function(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen[f"operation {function}"] += 1
        return function(*args, **(kwargs or {}))


class Counting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen[f"own function {getattr(function, '__name__', function)}"] += 1
        return super().__torch_function__(function, types, args, kwargs or {})


class Wrapping(torch.Tensor):
    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen[f"own operation {function}"] += 1
        args, kwargs = tree_map_only(Wrapping, lambda t: t.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, Wrapping, function(*args, **kwargs))


class Program:
    """Trains a small model, and counts what its modes or its tensors see in a step."""

    def __init__(self, kind: str) -> None:
        torch.manual_seed(0)
        make = {"a tensor that counts": lambda t: t.as_subclass(Counting), "a tensor around another": Wrapping}
        self.kind, self.make = kind, make.get(kind, lambda t: t)
        parts = (torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8), torch.nn.Sigmoid())
        self.model = torch.nn.Sequential(*parts)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.held = self.make(torch.ones(4, 8))

    def step(self) -> None:
        with self.modes("modes within a step"):
            loss = (self.model(self.make(torch.randn(4, 8))) * self.held).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def modes(self, where: str) -> Any:
        both = contextlib.ExitStack()
        if self.kind == where:
            both.enter_context(Functions())
            both.enter_context(Operations())
        return both

    def run(self, steps: int = 4) -> Counter[str]:
        seen.clear()
        with self.modes("modes around all"):
            for _ in range(steps):
                self.step()
        return Counter(seen)


KINDS = ("modes around all", "modes within a step", "a tensor that counts", "a tensor around another")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [False, True])
def test_what_the_program_counts_is_the_same_with_an_agent(kind: str, wanted: bool) -> None:
    alone = Program(kind).run()
    watch = Watch(link := Kept())
    try:
        watch.sampling = Sampling(credit_ns=10**15)  # every step is looked at
        watch.want(wanted)
        assert Program(kind).run() == alone and alone
        assert watch.guard.error == ""
        data = [e.data for e in link.entries if isinstance(e, Message) and e.type == STEP]
        assert any(step.get("layers") for step in data) == wanted
    finally:
        watch.close()


def test_a_profile_has_no_operation_of_the_look() -> None:
    def profile() -> Counter[str]:
        program = Program("")
        program.run(1)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            program.run(3)
        return Counter({e.key: e.count for e in profiler.key_averages() if e.key.startswith("aten::")})

    alone = profile()
    watch = Watch(Kept())
    try:
        watch.sampling = Sampling(credit_ns=10**15)
        watch.want(True)
        looked = profile()
    finally:
        watch.close()
    assert looked == alone


# Tensors are made in the test: others count what is alive.
NUMBERS: dict[str, Any] = {
    "a double": (lambda: torch.tensor(2.5, dtype=torch.float64), 2.5),
    "a single within others": (lambda: torch.tensor([1.0, 3.25])[1], 3.25),
    "a half": (lambda: torch.tensor(-0.5, dtype=torch.float16), -0.5),
    "a bfloat16": (lambda: torch.tensor(1.5, dtype=torch.bfloat16), 1.5),
    "infinity": (lambda: torch.tensor(float("-inf")), float("-inf")),
    "one with a graph": (lambda: torch.tensor(4.0, requires_grad=True) * 2, 8.0),
    "one of the program's kinds": (lambda: torch.tensor(1.0).as_subclass(Counting), None),
    "one without memory": (lambda: torch.tensor(1.0, device="meta"), None),
    "an integer": (lambda: torch.tensor(7), None),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_read_without_an_operation(name: str) -> None:
    make, want = NUMBERS[name]
    value = make()
    seen.clear()
    with Operations():
        assert number(value) == want
    assert not seen


class Reshaping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, given: Any) -> Any:
        return self.linear(given).view(given.shape[0] * 2, -1)


def traced(model: Any) -> str:
    return " ".join(node.kind() for node in torch.jit.trace(model, torch.ones(4, 8)).inlined_graph.nodes())


def exported(model: Any) -> str:
    of_any_length = torch.export.Dim("length")
    return str(torch.export.export(model, (torch.ones(4, 8),), dynamic_shapes=({0: of_any_length},)).graph)


@pytest.mark.parametrize("graph", [traced, exported])
def test_a_graph_that_pytorch_makes_is_the_same_with_an_agent(graph: Any) -> None:
    model = Reshaping()
    alone = graph(model)
    watch = Watch(Kept())
    try:
        watch.sampling = Sampling(credit_ns=10**15)
        watch.want(True)
        program = Program("")
        program.run(2)
        assert graph(model) == alone
        program.run(2)
        assert watch.guard.error == ""
    finally:
        watch.close()
