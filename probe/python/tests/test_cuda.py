"""The memory of devices, with a stand-in for PyTorch's allocator that replays recorded snapshots."""

from __future__ import annotations

import gc
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from hosted import Hosted
from kept import Kept
from recorded import RECORDED, SHORT, expected
from standin import ACTIVE, Allocator, Tensor

from memtop.link import queue as link
from memtop.link.queue import STEP, Tags, now_us
from memtop.memory import history, snapshots
from memtop.memory.cuda import PATIENCE, CudaMemory
from memtop.memory.history import MOST_ENTRIES, History
from memtop.memory.registry import Registry
from memtop.memory.snapshots import snapshot
from memtop.memory.stacks import Stacks
from memtop.watch.sampling import Sampling
from memtop.watch.watch import Watch


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Allocator:
    found = Allocator(RECORDED / getattr(request, "param", SHORT))
    found.install(monkeypatch.setattr)
    return found


class Watched:
    """Watched memory of devices."""

    def __init__(self) -> None:
        self.link = Kept()
        self.history = History()
        self.memory = CudaMemory(self.link, self.history)
        self.registry = Registry(self.memory, Stacks(self.link))
        self.memory.begin(self.registry)

    def snapshot(self) -> dict[str, Any]:
        """Return the newest snapshot of the link."""
        pickled = self.link.taken
        assert pickled is not None
        found: dict[str, Any] = pickle.loads(pickled.data)
        return found

    def tags(self) -> list[Tags]:
        """Return the newest tags of the link."""
        pickled = self.link.taken
        return list(pickled.tags) if pickled is not None else []


@pytest.fixture
def watched(allocator: Allocator) -> Iterator[Watched]:
    found = Watched()
    yield found
    found.memory.end()


@pytest.mark.parametrize(("allocator", "numbers"), expected(), indirect=["allocator"])
def test_a_snapshot_at_the_end_of_a_history_has_the_numbers_of_the_recording(
    allocator: Allocator, watched: Watched, numbers: dict[str, Any]
) -> None:
    watched.history.on("the test")
    events = 0
    while happened := allocator.advance(8000):
        events += happened
        watched.memory._snapshots.take()
    last = watched.snapshot()
    segments = last["segments"]
    assert events == numbers["events"]
    assert len(last["device_traces"][0]) == min(events, MOST_ENTRIES)
    assert len(segments) == numbers["segments"]
    assert sum(len(s["blocks"]) for s in segments) == numbers["blocks"]
    for name in ("allocated", "active", "requested"):
        assert sum(s[f"{name}_size"] for s in segments) == numbers[f"{name}_bytes"]
    assert sum(s["total_size"] for s in segments) == numbers["reserved_bytes"]
    [device] = watched.memory.devices()
    assert device.allocated == numbers["allocated_bytes"]
    assert device.reserved == numbers["reserved_bytes"]


def test_the_history_is_on_while_a_step_is_measured_and_bounded(allocator: Allocator, watched: Watched) -> None:
    watched.memory.stepped()
    assert allocator.most is None
    watched.memory.begin_step()
    door = torch._C._cuda_record_memory_history
    assert allocator.most == MOST_ENTRIES
    assert allocator.switched[0][:3] == ("all", "alloc", "python")
    watched.memory.end_step()
    assert allocator.most is None
    assert torch._C._cuda_record_memory_history == allocator.switch != door


def test_a_history_that_was_on_before_a_measured_step_is_the_agents_after_it(
    allocator: Allocator, watched: Watched
) -> None:
    watched.memory.stepped()
    watched.history.on("the test")
    allocator.advance(100)
    watched.memory.begin_step()
    allocator.advance(10)
    watched.memory.end_step()
    assert allocator.most == MOST_ENTRIES and not watched.history.foreign
    watched.history.off("the test")
    assert allocator.most is None


def test_the_history_of_a_program_that_records_is_left_alone(allocator: Allocator) -> None:
    torch.cuda.memory._record_memory_history(max_entries=99)
    watched = Watched()
    watched.memory.begin_step()
    watched.memory.end_step()
    watched.memory.end()
    assert allocator.most == 99
    assert len(allocator.switched) == 1


@pytest.mark.skipif(not snapshots._LEAVES_OUT, reason="this PyTorch cannot leave out the history")
@pytest.mark.parametrize(("requests", "events"), [(MOST_ENTRIES - 1, 500), (MOST_ENTRIES, 0)])
def test_a_look_has_the_history_of_a_program_that_records_unless_it_may_be_long(
    allocator: Allocator, monkeypatch: pytest.MonkeyPatch, requests: int, events: int
) -> None:
    torch.cuda.memory._record_memory_history(max_entries=10**6)
    watched = Watched()
    happened = 0
    while happened < 500:
        happened += allocator.advance(500 - happened)
    monkeypatch.setattr(history, "_requested", lambda: history._cleared_at + requests)
    watched.memory._snapshots.take()
    found = watched.snapshot()
    assert [len(trace) for trace in found["device_traces"]] == [events]
    assert found["segments"] == snapshot()["segments"]


def test_a_program_that_begins_to_record_while_it_is_watched_keeps_its_history(allocator: Allocator) -> None:
    watched = Watched()
    watched.memory.begin_step()
    torch.cuda.memory._record_memory_history(max_entries=99)
    watched.memory.end()
    assert allocator.most == 99
    assert torch._C._cuda_record_memory_history == allocator.switch


def tend(watched: Watched) -> None:
    """Let so much time pass that a snapshot is due, and do what the link's thread does then."""
    snapshots = watched.memory._snapshots
    assert snapshots in watched.link.tasks
    snapshots._tended -= 1
    link.tend(snapshots)


def test_snapshots_come_by_themselves_as_long_as_memory_changes(allocator: Allocator, watched: Watched) -> None:
    allocator.advance(500)
    tend(watched)
    assert len(watched.snapshot()["device_traces"][0]) == 500
    entries = len(watched.link.entries)
    tend(watched)
    assert len(watched.link.entries) == entries, "nothing had happened"


def test_snapshots_wait_for_the_end_of_a_step_while_there_are_steps(allocator: Allocator, watched: Watched) -> None:
    watched.memory.stepped()
    allocator.advance(10)
    taken = allocator.snapshots
    tend(watched)
    due = watched.memory._snapshots.due()
    assert allocator.snapshots == taken and due is not None and due > time.monotonic() + PATIENCE / 2
    watched.memory._stepped -= PATIENCE
    tend(watched)
    assert allocator.snapshots == taken + 1
    watched.memory.end()
    assert watched.memory._snapshots.due() is None


def test_snapshots_are_paid_from_a_purse_and_not_taken_while_it_is_empty(
    allocator: Allocator, watched: Watched
) -> None:
    watched.memory._snapshots._purse.pay(10**12)
    allocator.advance(10)
    taken = allocator.snapshots
    tend(watched)
    assert allocator.snapshots == taken
    watched.memory._snapshots._purse.begin()
    tend(watched)
    assert allocator.snapshots == taken + 1


def test_a_snapshot_of_a_program_at_rest_never_waits_for_a_step_that_waits_for_it(
    allocator: Allocator, watched: Watched
) -> None:
    taking, snapshots = threading.Event(), watched.memory._snapshots
    tags = watched.memory.tags
    watched.memory.tags = lambda: (taking.set(), tags())[1]  # where the link's thread needs the registry
    resting = threading.Thread(target=lambda: tend(watched), daemon=True)
    with watched.registry.lock:  # as the training thread has it at the end of a step
        allocator.advance(10)
        resting.start()
        taking.wait(20)
        ends = threading.Thread(target=lambda: snapshots.take(), daemon=True)
        watched.memory.tags = list  # this thread has the registry's lock, and could go on
        ends.start()
        ends.join(20)
        assert not ends.is_alive()
    resting.join(20)
    assert not resting.is_alive()


def test_the_collector_stays_as_the_program_sets_it_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    seen: list[tuple[int, ...]] = []
    for turns, on in ((gc.disable, False), (gc.enable, True)):
        monkeypatch.setattr(
            torch.cuda.memory, "_snapshot", lambda turns=turns: (seen.append(gc.get_threshold()), turns())
        )
        snapshot()
        assert gc.isenabled() == on and seen[-1][0] == 0 and gc.get_threshold() == before
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: gc.set_threshold(500, 5, 5))
    snapshot()
    assert gc.get_threshold() == (500, 5, 5)
    gc.set_threshold(*before)


def test_memory_is_tagged_with_what_the_registry_knows(allocator: Allocator, watched: Watched) -> None:
    allocator.advance(3000)
    block = next(b for s in allocator.snapshot()["segments"] for b in s["blocks"] if b["state"] == ACTIVE)
    tensor = Tensor(block["address"], block["requested_size"])
    watched.memory._snapshots.take()
    watched.registry.see(tensor, "parameter", "layers.0", "weight", 0)
    watched.memory._snapshots.take()  # a category has changed, though no memory has
    [tags] = watched.tags()
    [(address, number)] = tags.notes
    assert address == block["address"]
    tables = watched.link.tables
    note = tables.notes.entries[number]
    texts = [tables.strings.entries[n] for n in (note.category, note.layer, note.role, note.shape, note.dtype)]
    assert texts == ["parameter", "layers.0", "weight", str([block["requested_size"] // 4]), "fp32"]


def test_a_step_says_what_its_memory_is_for(allocator: Allocator, watched: Watched) -> None:
    tensor = Tensor(4096, 1000)
    watched.registry.see(tensor, "parameter", stack=0)
    watched.memory.begin_step()
    allocator.advance(3000)
    watched.memory.end_step()
    [step] = watched.memory.measures()
    assert {c["name"]: c["bytes"] for c in step["categories"]}["parameter"] == 1000
    assert sum(c["bytes"] for c in step["categories"]) == step["allocated_bytes"]


def without_news(allocator: Allocator) -> Callable[[int], dict[str, Any]]:
    """Return a function that gives the counters of a program whose highest peak was long ago."""
    peaks = {name: {"peak": 1 << 60} for name in ("allocated_bytes", "reserved_bytes")}

    def stats(device: int) -> dict[str, Any]:
        return {n: {"all": {**v["all"], **peaks[n]}} if n in peaks else v for n, v in allocator.stats(device).items()}

    return stats


@pytest.mark.parametrize(("allocator", "numbers"), expected(), indirect=["allocator"])
def test_the_peak_of_every_step_is_the_allocators_own_to_the_byte_though_no_counter_is_reset(
    allocator: Allocator, watched: Watched, hosted: Hosted, numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch._C, "_cuda_memoryStats", without_news(allocator))
    watched.link.passes = hosted.send
    happened = 1
    while happened:
        allocator.reset()
        watched.memory.begin_step()
        happened = allocator.advance(12_000)
        own = allocator.stats(0)
        truth = [own[name]["all"]["peak"] for name in ("allocated_bytes", "reserved_bytes")]
        step = ended(watched, hosted)
        assert [step["peak_allocated_bytes"], step["peak_reserved_bytes"]] == truth and "settings" not in step


def ended(watched: Watched, hosted: Hosted) -> dict[str, Any]:
    """End a step, and return it as the host shows it."""
    watched.memory.end_step()
    measured = next(m for m in watched.memory.measures() if m["device"] == 0)
    assert "peak_allocated_bytes" not in measured
    number = watched.registry.step = watched.registry.step + 1
    watched.link.message(STEP, {"step": number, "time_us": now_us(), "settings": [], **measured})
    return hosted.until("/v1/info", "step", number)["last_step"]


def test_a_step_longer_than_the_history_has_no_peak_and_says_why(
    allocator: Allocator, watched: Watched, hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocator.advance(100)
    monkeypatch.setattr(torch._C, "_cuda_memoryStats", without_news(allocator))
    watched.link.passes = hosted.send
    watched.memory.begin_step()
    allocator.most = 100
    assert allocator.advance(500) == 500
    step = ended(watched, hosted)
    assert step.get("peak_allocated_bytes", 0) == 0 and "does not reach back" in str(step["settings"])
    watched.memory.begin_step()
    assert ended(watched, hosted)["peak_allocated_bytes"], "each step begins anew"


def test_every_device_that_has_memory_is_told_of(
    allocator: Allocator, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = {"allocated_bytes": {"all": {"current": 0, "peak": 0}}, "reserved_bytes": {"all": {"current": 0, "peak": 0}}}
    stats = allocator.devices[0].stats()
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", lambda: 3)
    monkeypatch.setattr(torch._C, "_cuda_memoryStats", lambda device: idle if device == 1 else stats)
    assert [m.device for m in watched.memory.devices()] == [0, 2]
    watched.registry.see(tensor := Tensor(4096, 1000, device=2), "input", stack=0)
    assert [(t.device, len(t.notes)) for t in watched.memory.tags()] == [(2, 1)]
    del tensor
    assert watched.memory.tags() == []


def test_a_device_that_nobody_reads_is_named_once() -> None:
    watch = Watch(Kept())
    try:
        watch.want(True)
        for address, kind in enumerate(("meta", "cuda", "xpu", "xpu", "mps"), 1):
            watch.registry.see(Tensor(4096 * address, 1000, kind=kind), "parameter", stack=0)
        why = "only the processor's memory is shown: memtop does not read that of"
        assert watch.notices() == [f"{why} xpu devices", f"{why} mps devices"]
    finally:
        watch.close()


def test_a_told_step_says_what_the_allocator_counts_though_it_is_not_measured(
    allocator: Allocator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtop.watch.step_end.TELLING_NS", 0)
    watch = Watch(Kept())
    try:
        watch.want(True)
        watch.sampling = Sampling(share=0, credit_ns=0)
        optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
        highest = []
        for _ in range(4):
            allocator.advance(500)
            optimizer.step()
            [*_, step] = watch.link.latest(STEP)
            stats = allocator.stats(0)
            for kind in ("allocated_bytes", "reserved_bytes"):
                assert step[kind] == stats[kind]["all"]["current"]
            highest.append([stats[kind]["all"]["peak"] for kind in ("allocated_bytes", "reserved_bytes")])
            said = [step.get(f"highest_{kind}") for kind in ("allocated_bytes", "reserved_bytes")]
            assert said == (highest[-1] if highest[-1] not in highest[:-1] else [None, None])
            assert "categories" not in step and "peak_allocated_bytes" not in step
        assert highest[0] != highest[1] and highest[-1] == highest[-2], "some steps rise, and some do not"
    finally:
        watch.close()


def test_of_amds_devices_the_driver_is_not_asked(allocator: Allocator, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(Kept())
    try:
        assert watch.notices() == []
        monkeypatch.setattr(torch.version, "hip", "6.4.43484")
        (notice,) = watch.notices()
        assert "memtop does not ask AMD's driver" in notice
    finally:
        watch.close()


@pytest.mark.parametrize(("name", "shown"), [("native", True), ("cudaMallocAsync", False), ("pluggable", False)])
def test_a_device_that_is_used_after_a_viewer_came_is_shown_or_its_allocator_is_named(
    name: str, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(Kept())
    try:
        watch.want(True)
        assert watch.source().host and watch.notices() == []
        allocator = Allocator(SHORT)
        allocator.install(monkeypatch.setattr)
        monkeypatch.setattr(torch._C, "_cuda_getAllocatorBackend", lambda: name)
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        assert watch.source().host != shown
        assert [name in notice for notice in watch.notices()] == [True] * (not shown)
        [*_, step] = watch.link.latest(STEP)
        assert ({"key": "layer_times", "value": "processor"} in step["settings"]) == shown
    finally:
        watch.close()
