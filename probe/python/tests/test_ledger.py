"""The host ledger: what allocators say, and what the program's containers hold."""

from __future__ import annotations

import ctypes
import os
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402

from memtop.memory import device_ledger, heaps  # noqa: E402
from memtop.memory.device_ledger import DeviceLedger  # noqa: E402
from memtop.memory.host_ledger import HostLedger  # noqa: E402
from memtop.memory.host_tensors import HostTensors, Place  # noqa: E402
from memtop.memory.stacks import Stacks  # noqa: E402
from memtop.names.containers import Containers, weight  # noqa: E402
from memtop.names.paths import VariablePath  # noqa: E402

MIB = 1 << 20


def test_malloc_says_what_it_handed_out_and_what_it_keeps() -> None:
    if (before := heaps.malloc()) is None:
        pytest.skip("this C library does not say")
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    block = library.malloc(64 * MIB)
    held = heaps.malloc()
    library.free(block)
    freed = heaps.malloc()
    assert held is not None and 64 * MIB <= held.used - before.used < 65 * MIB
    assert freed is not None and held.used - freed.used >= 64 * MIB


def test_python_says_what_its_small_objects_take() -> None:
    if (before := heaps.python()) is None:
        pytest.skip("this interpreter has another allocator")
    kept = [str(n) * 8 for n in range(10**6, 10**6 + 1_200_000)]  # earlier tests have left room for some
    after = heaps.python()
    assert after is not None and after - before > 90 * MIB
    assert kept


def test_children_are_remembered_after_their_end() -> None:
    book = HostLedger()
    assert book.gauge(0, 1)["forked"] == []
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
    assert book.gauge(0, 1)["forked"] == [child]


def test_tensors_beside_a_device_are_told_by_what_keeps_them() -> None:
    link = Kept()
    stacks = Stacks(link)
    beside = HostTensors(link, stacks)
    see = beside.registry.see
    kept = [torch.zeros(MIB // 4) for _ in range(3)]
    weight, table = torch.zeros(2 * MIB // 4), torch.zeros(MIB // 8)
    for tensor in kept:
        see(tensor, "other", stack=0, keeper="kept[…], train.py:9")
    see(weight, "other", stack=0)
    see(weight, "parameter", "embedding", "weight", 0)
    see(table, "other", role="table", stack=stacks.of_line(HostTensors.places.__code__, 7))
    places = [
        Place("kept[…], train.py:9", "other", 3 * MIB, 3),
        Place("", "parameter", 2 * MIB, 1),
        Place("table, host_tensors.py:7", "other", MIB // 2, 1),
    ]
    assert beside.places() == tuple(places) and beside.total() == 11 * MIB // 2
    del tensor, kept[2]
    assert beside.total() == 9 * MIB // 2 and beside.places()[0].bytes == 2 * MIB


def test_a_gauge_has_what_only_the_program_knows() -> None:
    book = HostLedger()
    book.tensors = lambda: 5 * MIB
    host = book.gauge(0, 7)["host"]
    assert host["step"] == host["asked"] == 7 and host["tensors"] == 5 * MIB and "kept" not in host
    book._purse.pay(1e9)  # too much to ask again
    host = book.gauge(0, 8)["host"]
    assert host["step"] == 8 and host["asked"] == 7


def test_containers_that_grow_are_told_with_what_they_hold() -> None:
    found, code = Containers(), sys._getframe()
    small: list[int] = list(range(100))
    growing: dict[int, str] = dict.fromkeys(range(100), "x" * 1000)
    steady = ["x" * 1000] * 100

    def look() -> None:
        for name, value in (("small", small), ("growing", growing), ("steady", steady)):
            found.note(VariablePath(value, name, name, code.f_code, 4), code)
        found.settle(lambda way, _: way.path)

    look()
    assert found.kept == ()
    growing.update(dict.fromkeys(range(100, 1000), "x" * 1000))
    small.append(1)
    look()
    assert [kept.name for kept in found.kept] == ["growing[…]", "small[…]"]
    assert found.kept[0].entries == 1000 and found.kept[0].bytes == pytest.approx(1000 * 1049, rel=0.1)


def test_weighing_runs_no_code_of_the_program() -> None:
    class Rude(list):  # type: ignore[type-arg]
        def __len__(self) -> int:
            raise AssertionError

        def __iter__(self) -> None:  # type: ignore[override]
            raise AssertionError

        def __sizeof__(self) -> int:
            raise AssertionError

        def __reversed__(self) -> None:  # type: ignore[override]
            raise AssertionError

    class Opaque:
        def __sizeof__(self) -> int:
            raise AssertionError

    assert weight(Rude([b"x" * 1000])) >= 1000
    assert weight(Opaque()) == 0 and weight([Opaque()]) < 200
    assert weight(torch.zeros(1000)) == 4000 and weight({1: [b"x" * 5000]}) > 5000


def test_a_gauge_of_a_device_has_the_moment_of_the_drivers_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    looks = DeviceLedger(Kept(), lambda: 1)
    looks._nvml = SimpleNamespace(users=lambda card: [], memory=lambda card: (len(asked), 0))  # type: ignore[assignment]
    looks._found = {0: "a card"}
    monkeypatch.setattr(device_ledger, "now_us", lambda: len(asked))
    monkeypatch.setattr(device_ledger, "communicators", lambda device: asked.append("this takes a while"))
    gauge = looks._gauge(0, 0, None)
    assert gauge is not None and asked and gauge["time_us"] == gauge["device_total_bytes"] == 0
