"""No thread but the program's own touches its tensors, modules and optimizers: marks are complete and checked."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from hosting import Host  # noqa: E402
from kept import Kept  # noqa: E402

import memtop  # noqa: E402
from memtop.memory.registry import Registry  # noqa: E402
from memtop.names.categories import held_by  # noqa: E402
from memtop.safety import threads  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402

MARKS = {"touches", "called_by_pytorch", "unseen", "hidden"}

# Attributes that only tensors, modules, optimizers and nodes of a graph have.
TOUCHING = {
    "grad", "grad_fn", "data_ptr", "untyped_storage", "numel", "element_size", "is_leaf", "requires_grad", "detach",
    "is_inference", "_version", "_base", "_is_view", "param_groups", "parameters", "named_parameters", "buffers",
    "modules", "named_modules", "_parameters", "_buffers", "_modules", "_forward_hooks", "_backward_hooks",
    "next_functions", "register_hook", "register_prehook", "register_post_accumulate_grad_hook", "expired",
}  # fmt: skip
# Names whose attributes with these names are something else.
NO_OBJECTS = {"self", "sys", "torch", "nn", "signature", "_socket", "end"}


def unmarked(source: str, file: str) -> list[str]:
    """Return the places where a function touches an object, though neither it nor one around it has a mark for that."""
    return [f"{file}:{line} {what}" for line, what in _unmarked(ast.parse(source), False)]


def _unmarked(node: ast.AST, marked: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        marks = {name.id for name in getattr(node, "decorator_list", []) if isinstance(name, ast.Name)}
        marked = marked or bool(marks & MARKS)
    if isinstance(node, ast.Attribute) and node.attr in TOUCHING and not marked:
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        if name not in NO_OBJECTS:
            yield node.lineno, node.attr
    for child in ast.iter_child_nodes(node):
        yield from _unmarked(child, marked)


def test_all_that_touches_is_marked() -> None:
    package = Path(memtop.__file__).parent
    found = [line for file in sorted(package.rglob("*.py")) for line in unmarked(file.read_text(), file.name)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "places"),
    {
        "a function without a mark": ("def f(p):\n    return p.grad\n", ["x:2 grad"]),
        "a method without a mark": ("class C:\n    def f(self, m):\n        m.modules()\n", ["x:3 modules"]),
        "a class with a mark": ("@touches\nclass C:\n    def f(self, m):\n        m.modules()\n", []),
        "code of a module": ("held = tensor.untyped_storage()\n", ["x:1 untyped_storage"]),
        "a lambda in a function that is marked": ("@touches\ndef f(p):\n    return lambda: p.grad\n", []),
        "what PyTorch calls": ("@called_by_pytorch\ndef f(p):\n    return p.grad\n", []),
        "the table of modules": ("import sys\n\ndef f():\n    return sys.modules\n", []),
    }.values(),
)
def test_the_search_for_marks_finds_what_has_none(source: str, places: list[str]) -> None:
    assert unmarked(source, "x") == places


def in_a_thread(function: Any) -> BaseException | None:
    """Call a function in a thread of its own, and return the exception that it raised."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    threads.trespasses.clear()
    return raised[0] if raised else None


def test_a_touch_from_another_thread_is_found() -> None:
    watch = Watch(Kept())
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for touch in (
            lambda: watch.registry.see(model.weight, "parameter"),
            lambda: watch.look.gathering.scan(),
            lambda: watch.known(0),
            lambda: held_by(optimizer),
        ):
            assert isinstance(in_a_thread(touch), threads.Trespass)
    finally:
        watch.close()


def test_what_the_server_asks_touches_nothing() -> None:
    watch = Watch(Kept())
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    optimizer = torch.optim.AdamW(model.parameters())

    def ask() -> None:
        watch.devices()
        watch.notices()
        watch.source()
        watch.settings.options()
        watch.registry.holdings()

    try:
        for wanted in (False, True, True, False):
            assert in_a_thread(lambda wanted=wanted: watch.want(wanted)) is None
            for _ in range(3):
                model(torch.randn(2, 8)).sum().backward()
                optimizer.step()
                assert in_a_thread(ask) is None
    finally:
        watch.close()


def test_without_the_debug_mode_marks_cost_nothing() -> None:
    code = "from memtop.safety.threads import *; f = lambda: 1; print(touches(f) is f and called_by_pytorch(f) is f)"
    environment = {"PYTHONPATH": str(Path(memtop.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


FORKED = """
import os, torch
from memtop import agent
from memtop.safety import threads
agent.start()
child = os.fork()
if child == 0:
    os._exit(len(threads.trespasses))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_goes_on_without_the_agent(tmp_path: Path) -> None:
    """For example a data loader's worker: it forks in the program's own code, outside any hook of PyTorch."""
    folder = str(tmp_path / "m")
    host = Host(tmp_path / "m")
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(memtop.__file__).parents[1]),
        "MEMTOP_DIR": folder,
        "MEMTOP_HOST": host.path,
    }
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    host.close()
    assert (done.stdout, done.stderr) == ("0\n", "")


class Optimizers:
    """Two optimizers with gradients; another thread steps one of them."""

    def __init__(self) -> None:
        self.mine, self.other = (torch.optim.SGD(torch.nn.Linear(4, 4).parameters(), lr=0.1) for _ in range(2))
        for optimizer in (self.mine, self.other):
            for parameter in optimizer.param_groups[0]["params"]:
                parameter.grad = torch.ones_like(parameter)

    def gradients(self, registry: Registry, optimizer: Any) -> list[str]:
        parameters = optimizer.param_groups[0]["params"]
        return [h.category for p in parameters if (h := registry.find(p.grad)) is not None]


def test_a_gradient_is_read_by_the_thread_alone_that_makes_its_steps() -> None:
    watch = Watch(Kept())
    both = Optimizers()
    try:
        both.mine.step()
        assert in_a_thread(both.other.step) is None
        with watch.registry.lock:
            watch.registry.clear(watch.memory)
        for optimizer in (both.mine, both.other):
            watch.look.gathering.optimizer(optimizer, anew=True)
        assert both.gradients(watch.registry, both.mine) == ["gradient", "gradient"]
        assert both.gradients(watch.registry, both.other) == []
    finally:
        watch.close()


def test_a_program_that_joins_and_profiles_all_threads_finds_none_of_the_agents() -> None:
    """They do not count as Python's threads, and leave every signal to the program's."""
    began, leave, seen, listed = threading.Event(), threading.Event(), [], threading.enumerate()

    def work() -> None:
        seen.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        began.set()
        leave.wait(60)

    threading.setprofile(lambda *_: seen.append("profiled"))
    try:
        threads.start(work)
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
    assert began.wait(60)
    assert {signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD} <= seen.pop()
    assert not seen
    assert threading.enumerate() == listed
    leave.set()
