"""The host ledger: what allocators, /proc and the control group say, and what the program's containers hold."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from kept import Kept  # noqa: E402

from memtop import cards, heaps, ledger, processes  # noqa: E402
from memtop.beside import Beside, Place  # noqa: E402
from memtop.cards import Cards  # noqa: E402
from memtop.containers import Containers, weight  # noqa: E402
from memtop.gauges import Group  # noqa: E402
from memtop.ledger import Ledger  # noqa: E402
from memtop.left import Left  # noqa: E402
from memtop.registry import by_callback  # noqa: E402
from memtop.stacks import Stacks  # noqa: E402
from memtop.ways import Way  # noqa: E402

MIB = 1 << 20
LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


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


@LINUX
def test_python_is_asked_again_when_memory_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(range(1, 10))
    monkeypatch.setattr(heaps, "python", lambda: next(answers))
    held = iter((100, 100, 101, 100, 100))
    monkeypatch.setattr(processes, "own", lambda: processes.Own(processes.Resident(next(held) * MIB), 0, 0, 0))
    book = Ledger()
    assert [book._ask()["python"] for _ in range(5)] == [1, 1, 2, 3, 3]


@LINUX
def test_a_worker_counts_with_what_it_does_not_share() -> None:
    code = "import sys; kept = bytearray(b'x') * (64 << 20); print('.', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout and worker.stdout.readline()
        assert worker.pid in processes.workers()
        found = processes.resident(worker.pid)
        assert found is not None and 64 * MIB < found.anonymous < 128 * MIB
        part = processes.proportional(worker.pid)
        assert part is not None and 64 * MIB < part.anonymous <= found.anonymous
        worker.communicate(b"")
    assert worker.pid not in processes.workers() and processes.resident(worker.pid) is None


class Shared:
    """A file of 4 MiB in shared memory."""

    def __init__(self, name: str) -> None:
        self.path = processes.SHARED / name

    def __enter__(self) -> Path:
        self.path.write_bytes(b"x" * 4 * MIB)
        return self.path

    def __exit__(self, *_: object) -> None:
        self.path.unlink()


@LINUX
def test_files_that_nobody_has_mapped_are_left_behind() -> None:
    found = Ledger()
    with Shared(f"memtop-test-{os.getpid()}") as path:
        inode = path.stat().st_ino
        assert processes.shared_files(path.stat().st_mtime)[inode] == (4 * MIB, path.name)
        assert inode not in processes.shared_files(path.stat().st_mtime + 3600)
        assert found._ask()["left_name"] == path.name
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0):
            assert inode in processes.mapped_files(processes.every())
            assert "left" not in found._ask()
        assert found._ask()["left"] == 4 * MIB


@LINUX
def test_files_of_the_program_are_told_from_those_of_others() -> None:
    left, mine = Left(), os.getpid()
    assert left.find([], set()) == {}
    with Shared("memtop-test-0-ended"), Shared(f"memtop-test-{mine + 1}"), Shared("memtop-test-open") as path:
        assert left.find([], set()) == {}
        assert left.find([], {path.stat().st_ino})["left_name"] == path.name
        assert left.find([], set())["left_files"] == 1  # it has seen whose it is
        assert left.find([mine + 1], set())["left_files"] == 2  # a worker, which may end
        assert left.find([], set())["left_files"] == 2


@LINUX
def test_what_a_child_left_counts_after_its_end() -> None:
    left = Left()
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
    with Shared(f"torch_{child}_1804289383_0") as path:
        assert left.find([], set()) == {"left": 4 * MIB, "left_files": 1, "left_name": path.name}


@LINUX
def test_what_another_program_has_mapped_is_not_left() -> None:
    left = Left()
    with Shared(f"memtop-test-{os.getpid()}") as path:
        file = f"file = open({str(path)!r}, 'r+b'); kept = mmap.mmap(file.fileno(), 0); file.close()"
        command = [sys.executable, "-c", f"import mmap, sys; {file}; print(flush=True); sys.stdin.read()"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout and other.stdout.readline()
            assert left.find([], set())["left"] == 4 * MIB
            left.ask_all()
            assert left.find([], set()) == {}
            assert left.find([other.pid], set()) == {}
            other.communicate(b"")


def test_page_tables_are_walked_as_often_as_the_last_walk_allows() -> None:
    book = Ledger()
    book.watched, book._workers, walks = True, [1], []

    def walk() -> ledger.Shares:
        walks.append(1)
        until = time.thread_time_ns() + 2 * ledger.CREDIT_NS
        while time.thread_time_ns() < until:
            pass
        return ledger.Shares(processes.Resident(), {})

    book._walk = walk  # type: ignore[method-assign]
    for passed, walked in ((ledger.FOLLOWING, 1), (ledger.FOLLOWING, 1), (50, 1), (40, 1), (100, 2), (50, 2)):
        book._walked -= passed  # a walk costs the share of 200 seconds, of which 100 are paid ahead
        book.tend()
        assert len(walks) == walked, passed
    assert 4 * ledger.CREDIT_NS <= book._cost_ns < 6 * ledger.CREDIT_NS


@LINUX
@LINUX
def test_what_another_process_states_is_read_as_far_as_is_enough(tmp_path: Path) -> None:
    (tmp_path / "maps").write_bytes(b"")
    os.truncate(tmp_path / "maps", 1 << 42)
    assert len(processes.read(tmp_path / "maps")) == 16 << 20
    words = ["sh", "-c", "echo; read end", *["x" * 100_000] * 10]
    talker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert talker.stdout is not None and talker.stdout.readline()
        tracemalloc.start()
        assert cards._command(talker.pid).startswith("sh -c echo; read end xxx")
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
        talker.communicate()


def test_what_processes_hand_each_other_is_found_while_it_is_open() -> None:
    def mine() -> int:
        return sum(processes.opened(os.getpid()).unnamed.values())

    before = mine()
    path = processes.SHARED / f"memtop-test-{os.getpid()}"
    with path.open("w+b") as file:
        file.write(b"x" * 4 * MIB)
        file.flush()
        assert mine() == before  # it has a name, so it may be anything
        assert path.stat().st_ino in processes.opened(os.getpid()).named
        renamed = path.with_name(f"{path.name}-renamed")
        os.link(path, renamed)
        path.unlink()
        assert mine() == before  # the kernel calls it deleted, as that of a black box, but it has another name
        renamed.unlink()
        assert mine() == before + 4 * MIB
    assert mine() == before


# What the kernel's documentation says of both versions of control groups, for a program that is alone in its group.
FIRST = "cache 3145728\nrss 9\nshmem 9\ntotal_cache 3145728\ntotal_rss 5242880\ntotal_shmem 1048576\n"
SECOND = "anon 5242880\nfile 3145728\nkernel 524288\nkernel_stack 65536\nsock 262144\nshmem 1048576\nslab 131072\n"
EARLIER = (
    "anon 5242880\nfile 3145728\nkernel_stack 131072\npagetables 131072\nsock 262144\nshmem 1048576\nslab 262144\n"
)


@pytest.mark.parametrize(
    ("names", "stat", "kernel"),
    [
        (("memory.limit_in_bytes", "memory.usage_in_bytes"), FIRST, 786432),
        (("memory.max", "memory.current"), SECOND, 786432),
        (("memory.max", "memory.current"), EARLIER, 786432),
    ],
    ids=["version 1", "version 2", "version 2 before Linux 5.18"],
)
def test_the_group_is_divided_as_the_kernel_charges_it(
    names: tuple[str, str], stat: str, kernel: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, used = (str(tmp_path / name) for name in names)
    Path(used).write_text(f"{9 * MIB + 131072}\n")
    (tmp_path / "memory.stat").write_text(stat)
    (tmp_path / "memory.kmem.usage_in_bytes").write_text(f"{kernel}\n")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n1\n")
    monkeypatch.setattr(ledger, "groups", lambda: (Group(limit, used, str(tmp_path / "memory.stat"), ""),))
    assert ledger._group([]) == {
        "group": 9 * MIB + 131072, "group_anonymous": 5 * MIB, "group_files": 2 * MIB, "group_shared": MIB,
        "group_kernel": kernel, "group_others": 1,
    }  # fmt: skip


def test_tensors_beside_a_device_are_told_by_what_keeps_them() -> None:
    link = Kept()
    stacks = Stacks(link)
    beside = Beside(link, stacks)
    see = beside.registry.see
    kept = [torch.zeros(MIB // 4) for _ in range(3)]
    weight, table = torch.zeros(2 * MIB // 4), torch.zeros(MIB // 8)
    for tensor in kept:
        see(tensor, "other", stack=0, keeper="kept[…], train.py:9")
    see(weight, "other", stack=0)
    see(weight, "parameter", "embedding", "weight", 0)
    see(table, "other", role="table", stack=stacks.of_line(Beside.places.__code__, 7))
    places = [
        Place("kept[…], train.py:9", "other", 3 * MIB, 3),
        Place("", "parameter", 2 * MIB, 1),
        Place("table, beside.py:7", "other", MIB // 2, 1),
    ]
    assert beside.places() == tuple(places) and beside.total() == 11 * MIB // 2
    if beside.registry._follow is by_callback:
        del tensor, kept[2]
        assert beside.total() == 9 * MIB // 2 and beside.places()[0].bytes == 2 * MIB


@LINUX
def test_memory_is_writable_before_it_is_touched() -> None:
    before = processes.own()
    with mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE):
        after = processes.own()
    assert after.writable - before.writable >= 64 * MIB
    assert after.resident.anonymous - before.resident.anonymous < 32 * MIB


@LINUX
def test_a_gauge_has_the_ledger_of_its_moment() -> None:
    book = Ledger()
    book.tensors = lambda: 5 * MIB
    gauge = book.gauge(0, 7)
    assert gauge is not None
    host = gauge["host"]
    own = processes.own().resident
    assert host["step"] == host["asked"] == 7 and host["tensors"] == 5 * MIB
    assert abs(host["anonymous"] - own.anonymous) < 32 * MIB and abs(host["files"] - own.files) < 32 * MIB
    if "group" in host:
        kinds = sum(host[f"group_{kind}"] for kind in ("anonymous", "files", "shared", "kernel"))
        assert abs(host["group"] - kinds) < max(4 * MIB, host["group"] // 50)
    book._purse.pay(1e9)  # too much to ask again
    gauge = book.gauge(0, 8)
    assert gauge is not None and gauge["host"]["step"] == 8 and gauge["host"]["asked"] == 7
    assert book.due() is None  # nobody watches, and there is no box
    book.watched = True
    assert book.due() is not None


def test_containers_that_grow_are_told_with_what_they_hold() -> None:
    found, code = Containers(), sys._getframe()
    small: list[int] = list(range(100))
    growing: dict[int, str] = dict.fromkeys(range(100), "x" * 1000)
    steady = ["x" * 1000] * 100

    def look() -> None:
        for name, value in (("small", small), ("growing", growing), ("steady", steady)):
            found.note(Way(value, name, name, code.f_code, 4), code)
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
    looks = Cards(Kept(), lambda: 1)
    looks._nvml = SimpleNamespace(users=lambda card: [], memory=lambda card: (len(asked), 0))  # type: ignore[assignment]
    looks._found = {0: "a card"}
    monkeypatch.setattr(cards, "now_us", lambda: len(asked))
    monkeypatch.setattr(cards, "communicators", lambda device: asked.append("this takes a while"))
    gauge = looks._gauge(0, 0, None)
    assert gauge is not None and asked and gauge["time_us"] == gauge["device_total_bytes"] == 0
