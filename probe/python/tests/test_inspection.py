"""Nothing of the program's objects is read by their own code, and nothing of autograd between the steps."""

from __future__ import annotations

import ast
import sys
from collections import OrderedDict, UserDict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402

import memtop  # noqa: E402
from memtop.hooks.graphs import is_leaf, is_node  # noqa: E402
from memtop.hooks.models import parameters_of, parts_of, trained_by  # noqa: E402
from memtop.memory.registry import tensors_in  # noqa: E402
from memtop.memory.stacks import variables_of  # noqa: E402
from memtop.safety.inspection import attribute_of, container_of, fields_of, is_a, items_of  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402

used: list[str] = []


def use(name: str) -> Callable[..., Any]:
    def used_by(*_: Any, **__: Any) -> Any:
        used.append(name)
        raise RuntimeError(name)

    return used_by


NAMES = (
    "__len__", "__iter__", "__eq__", "__hash__", "__bool__", "__repr__", "__contains__", "__call__", "__getitem__",
    "__getattr__", "__instancecheck__", "__reversed__", "values", "items", "keys", "modules", "parameters",
    "named_modules", "named_parameters",
)  # fmt: skip
CODE = {name: use(name) for name in NAMES}
Untouchable = type("Untouchable", (), CODE)
Pretender = type(
    "Pretender", (), {**CODE, "__class__": property(use("__class__")), "__dict__": property(use("__dict__"))}
)
List, Dict, Tuple, Set = (type(kind.__name__, (kind,), CODE) for kind in (list, dict, tuple, set))
Guarded = type("Guarded", (), {"__getattribute__": use("__getattribute__")})


@dataclass
class Record:
    first: Any
    second: Any


class Slotted:
    __slots__ = ("_local_tensor",)


@pytest.fixture(autouse=True)
def untouched() -> Any:
    used.clear()
    yield
    assert used == []


def test_types_are_those_of_the_objects_and_not_what_they_claim() -> None:
    for value in (Pretender(), Untouchable(), Guarded()):
        assert not is_a(value, torch.Tensor) and container_of(value) is None and items_of(value) == []
        assert not is_node(value) and fields_of(value) == {} and list(tensors_in(value)) == []
    assert is_a(torch.nn.Parameter(torch.zeros(1)), torch.Tensor)


def test_containers_are_read_as_pythons_own() -> None:
    tensor = torch.zeros(2)
    for value in (
        List([tensor]),
        Dict(a=tensor),
        Tuple([tensor]),
        Set([tensor]),
        OrderedDict(a=tensor),
        deque([tensor]),
        Record(3, [tensor]),
    ):
        assert [id(found) for found in tensors_in(value)] == [id(tensor)]
    assert items_of(UserDict(a=1)) == []


def test_attributes_lie_in_a_dictionary_or_a_slot() -> None:
    slotted, plain = Slotted(), Record(1, 2)
    assert attribute_of(slotted, "_local_tensor", 7) == 7
    slotted._local_tensor = 5
    assert attribute_of(slotted, "_local_tensor") == 5 and attribute_of(plain, "second") == 2
    assert attribute_of(plain, "third", 3) == 3


class Model(torch.nn.Module):
    """Its own methods are the program's code."""

    modules = named_modules = parameters = named_parameters = buffers = children = use("a module's method")

    def __init__(self) -> None:
        super().__init__()
        self.inner = self.again = torch.nn.Linear(2, 2)
        vars(self)["odd"] = Pretender()  # PyTorch itself would ask it for its class


class Optimizer(torch.optim.SGD):
    def __init__(self, model: Any) -> None:
        super().__init__(torch.nn.Module.parameters(model.inner), 0.1)


def test_models_and_optimizers_are_read_without_their_methods() -> None:
    model = Model()
    assert [path for path, _ in parts_of(model)] == ["", "inner"]
    assert [path for path, _ in parameters_of(model)] == ["inner.weight", "inner.bias"]
    assert [id(p) for p in trained_by(Optimizer(model))] == [id(model.inner.weight), id(model.inner.bias)]


def test_looks_go_past_objects_that_nobody_may_touch() -> None:
    watch, model = Watch(Kept()), Model()
    held, optimizer = [Untouchable(), Pretender(), Guarded(), {1: Dict(a=List([Pretender()]))}], Optimizer(model)
    try:
        watch.look.gathering.scan()
        watch.look.names.show(sys._getframe())
        watch.look.gathering.optimizer(optimizer)
        assert watch.look.gathering.optimizers and len(held) == 4
    finally:
        watch.close()


@pytest.mark.parametrize("ending", ["trace", "profile", "call"])
def test_a_debuggers_function_loses_no_variable(ending: str) -> None:
    """The program looks at its variables within a function that Python calls for a debugger or a profiler."""
    seen: list[dict[str, Any]] = []

    def look(frame: Any) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        before = dict(frame.f_locals) if ending == "trace" else None
        seen.append(variables_of(frame))
        assert before is None or frame.f_locals == before

    def local(frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            look(frame)
            sys.settrace(tracer)
        return local

    def tracer(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is not work.__code__:
            return None
        if ending == "call":
            look(frame)
        return local

    def profiler(frame: Any, event: str, _: Any) -> None:
        if frame.f_code is work.__code__ and event == "call":
            look(frame)

    def work(i: int) -> int:
        a = i
        b = a + 1
        return a + b

    sys.setprofile(profiler) if ending == "profile" else sys.settrace(tracer)
    try:
        assert work(3) == 7
    finally:
        sys.settrace(None)
        sys.setprofile(None)
    assert seen and seen[0]["i"] == 3


def test_a_frame_keeps_what_the_program_asked_for_and_nothing_else() -> None:
    kept = locals()
    value = torch.zeros(3)
    assert variables_of(sys._getframe())["value"] is value
    assert "value" not in kept or sys.version_info >= (3, 13)


def test_views_have_a_graph_without_a_look_at_it() -> None:
    weight = torch.zeros(4, requires_grad=True)
    assert is_leaf(weight) and is_leaf(torch.zeros(4)[1:]) and not is_leaf(weight[1:]) and not is_leaf(weight * 2)
    assert is_node((weight * 2).grad_fn) and not is_node(weight)


def test_autograd_is_read_in_one_file() -> None:
    """Where else a node or a leaf were read, it would be between the steps sooner or later."""
    names = {"grad_fn", "is_leaf", "saved_tensors", "output_nr", "retains_grad"}
    package = Path(memtop.__file__).parent
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and (node.attr in names or node.attr.startswith("_raw_saved"))
    }
    assert found == {"hooks/graphs.py"}
