"""A rehearsal: the program runs on an imitated GPU, reports its memory at each step, and ends when enough is known.

Steps, failed requests and the end are lines in the folder that `memtop rehearse` reads. The allocator's
history is recorded from its first request on, and written there when the program ends.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import time
from multiprocessing import util
from typing import Any

import torch

from .. import agent
from ..hooks.leading_optimizer import LeadingOptimizer
from ..hooks.optimizer_step import listen
from ..memory import cuda
from ..memory.history import History
from ..memory.shortening import PROTOCOL
from ..safety.threads import called_by_pytorch
from . import call_arguments, deepspeed_zero, given_values, ranks, sent_objects, single_rank
from .captures import Captures
from .counted_rows import CountedRows
from .cycles import Cycles
from .device_reads import Reads
from .edits import Edits
from .imitated import note, told
from .pinned import Pinned
from .purposes import Purposes
from .recorded_streams import RecordedStreams

PAUSE = 0.05  # seconds
SETTLED = 3  # steps without a higher peak, after which it ends
QUIET = 16  # the same, after which one that goes on begins its history anew; with a viewer as soon as it settles
LONG = 50_000  # requests without which no history is begun anew, but with a viewer
MOST_ENTRIES = 4_000_000  # the most entries of the history, for each device

Peaks = list[tuple[int, int]]  # by device: bytes allocated and bytes reserved


class Rehearsal:
    """Watches one process. The program's own threads call its methods."""

    def __init__(self) -> None:
        self._folder = told()["folder"]
        self._last = told()["steps"]
        self._history = History(entries=MOST_ENTRIES, passes=self._keep_history, frees=True)
        self._leader = LeadingOptimizer()
        self._reads = Reads(functools.partial(self.leave, "waits"))
        self._passed = RecordedStreams()
        self._purposes = Purposes()
        self._cycles = Cycles()
        self._captures = Captures()
        self._edits = Edits()
        self._pinned = Pinned()
        self._counted_rows = CountedRows(self._reads, given_values.upper())
        self._step = 0
        self._settled = 0  # steps since the peak last grew
        self._peaks: Peaks = []
        self._snapshots = 0  # number of histories written when the program took over, or ended
        self._written = 0  # bytes allocated at the highest peak whose history was written
        self._native = False  # the allocator is PyTorch's own
        self._process = 0  # the process that uses a device: a fork of it reports nothing
        self._began = time.monotonic()

    def begin(self) -> None:
        """Begin now, or as soon as the program initialises a device."""
        torch.cuda._lazy_call(self._initialised)
        self._edits.begin()
        self._pinned.begin()
        if told()["again"]:
            torch.cuda.memory._dump_snapshot = lambda *_, **__: None
        sent_objects.begin(self._reads)
        deepspeed_zero.begin()
        call_arguments.begin()
        ranks.begin(self.leave)

    def _initialised(self) -> None:
        self._process = os.getpid()
        note("begin", rank=int(os.environ.get("RANK", "0")), devices=torch.cuda.device_count())
        self._native = cuda.backend() == cuda.NATIVE
        self._reads.begin()
        self._counted_rows.begin()
        self._passed.begin()
        self._cycles.begin()
        self._captures.begin()
        self._purposes.begin()
        self._keep_peaks()
        listen(self._after_step)
        if self._native:  # other allocators keep no history
            self._history.on("the rehearsal")
            torch._C._cuda_attach_out_of_memory_observer(self._refused)
        atexit.register(self._exit)
        util.Finalize(None, self._exit, exitpriority=0)  # a forked child of multiprocessing ends this way

    def _keep_peaks(self) -> None:
        """Note the peaks before the program resets them."""
        reset = torch._C._cuda_resetPeakMemoryStats

        def noted(device: int) -> Any:
            self._look()
            return reset(device)

        torch._C._cuda_resetPeakMemoryStats = noted

    def _look(self) -> bool:
        """Note the peaks. Report whether one of them has grown."""
        now = [(_peak("allocated", n), _peak("reserved", n)) for n in range(torch.cuda.device_count())]
        before = self._peaks or [(0, 0)] * len(now)
        self._peaks = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(before, now)]
        return self._peaks != before

    @called_by_pytorch
    def _after_step(self, optimizer: Any) -> None:
        if not self._leader.leads(optimizer):
            return
        self._step += 1
        self._reads.stepped()
        surveyed = self._is_surveyed()
        self._settled += 1
        if self._look():
            self._settled = 0
            self._purposes.look(optimizer, self._allocated())
        self._note("step")
        if self._last > 0 and self._step >= self._last and surveyed:
            self.leave("steps")
        elif (
            self._last == 0
            and self._settled >= SETTLED
            and self._allocated()
            and surveyed
            and not self._history.foreign
        ):
            self.leave("settled")  # a program that records its memory wants it whole
        elif self._settled and self._settled % (SETTLED if _viewed() else QUIET) == 0:
            self._begin_history_anew()

    def _allocated(self) -> int:
        return sum(allocated for allocated, _ in self._peaks)

    def _is_surveyed(self) -> bool:
        """Report whether all is known about the program's blocks that is asked for."""
        watch = agent.watching()
        return not self._edits.survey or watch is None or self._edits.surveyed(watch, self._step)

    @called_by_pytorch
    def _refused(self, device: int, asked: int, total: int, free: int, *_: Any) -> None:
        self._look()
        self._note("refused", device=device, asked=asked, total=total, free=free, handling=_handling())

    def _note(self, kind: str, **data: object) -> None:
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        host = {"resident": resident, **self._pinned.told()}
        note(kind, step=self._step, seconds=time.monotonic() - self._began, peaks=self._peaks, host=host, **data)

    def leave(self, reason: str) -> None:
        """End the process here. What the program does after its last step, such as saving weights that were never
        computed, does not happen."""
        self.end(reason)
        ranks.gone()
        _end_workers()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    @called_by_pytorch
    def _exit(self) -> None:
        """End with the program. Give PyTorch's own threads a moment to stop, as a real device would: one that is still
        returning from a backward pass would crash the process when the interpreter ends."""
        began = time.monotonic()
        if self.end("exit"):
            gc.disable()  # the interpreter would collect at once what was just collected, and does once more as it ends
            time.sleep(max(0, began + PAUSE - time.monotonic()))

    def _keep_history(self) -> None:
        """Write the history so far. The program is about to start or stop its own recording, or the process is
        ending."""
        if not self._native:
            return
        self._snapshots += 1
        self._write_history(str(self._snapshots))

    def _begin_history_anew(self) -> None:
        """Write a long history of the highest peak, in place of that of a lower one, and begin another: a snapshot
        takes time for each of its events, also one for viewers. The program's own history is left alone. What a new one
        finds at a later peak may be older than it, and is not known as well."""
        if not self._native or self._history.foreign or not (_viewed() or self._history.requests() > LONG):
            return
        if self._allocated() > self._written:
            self._written = self._allocated()
            self._write_history("highest")
            self._purposes.forget()
        self._history.on("the rehearsal", fresh=True)

    def _write_history(self, name: str) -> None:
        path = os.path.join(self._folder, f"{os.getpid()}.{name}.snapshot")
        self._purposes.look(last=True)
        contents = torch.cuda.memory._snapshot()
        self._purposes.write(contents, self._cycles.collected)
        self._captures.write(contents)
        with open(path, "wb") as file:
            pickle.dump(contents, file, PROTOCOL)

    def end(self, reason: str) -> bool:
        """Write the results, once. Report whether this call did it."""
        if self._process != os.getpid():
            return False
        self._process = 0
        self._look()
        self._cycles.end()
        self._keep_history()
        watch = agent.watching()
        if self._edits.survey and watch is not None:
            self._edits.tell(watch)
        self._note("end", reason=reason, reads=self._reads.found(), passed=self._passed.most())
        return True


def _viewed() -> bool:
    """Report whether a viewer looks, so that snapshots are taken of the history."""
    watch = agent.watching()
    return watch is not None and watch.wanted


def _end_workers() -> None:
    """End the workers of data loaders, which would report that their program is gone."""
    with contextlib.suppress(ValueError):  # only the main thread may, and only there a loader's handler raises
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for worker in multiprocessing.active_children():
        if worker.daemon:
            worker.kill()


def _handling() -> str:
    """Return the line whose lack of memory is being handled right now: its traceback keeps what was made until then."""
    error = sys.exc_info()[1]
    trace = error.__traceback__ if isinstance(error, torch.cuda.OutOfMemoryError) else None
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace is not None else ""


def _peak(of: str, device: int) -> int:
    peak: int = torch.cuda.memory_stats(device).get(f"{of}_bytes.all.peak", 0)
    return peak


def begin() -> None:
    """Begin the rehearsal of this process. PyTorch must have been imported."""
    if told()["world"]:
        single_rank.begin()
    Rehearsal().begin()
