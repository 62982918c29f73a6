"""Running out of memory: before PyTorch raises the exception, the agent writes a snapshot and its report.

PyTorch calls its observers in the thread whose request failed. An observer cannot be removed, so one
stays for the life of the process, and does nothing while no agent runs. It is attached only after
the program has initialised the device: some versions of PyTorch crash otherwise.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any, Callable

import torch

from ..rehearsal.imitated import rehearsed
from ..safety.interrupts import ignored, let_through
from ..safety.modes import unseen
from ..start import identity
from ..watch.watch import Watch
from . import cuda, report_files
from .exception_line import ExceptionLine
from .failed_request import Request, account, asker, frames_of, write_notes, write_request
from .shortening import MOST_ENTRIES, pickled, shorten
from .snapshots import snapshot

PAUSE = 60.0  # seconds, at least, from one report to the next

_answer: Callable[[Request], None] | None = None  # the observer calls this
_attached = False


class OutOfMemory:
    """Reports failed requests, as soon as the program uses a device."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._mention = ExceptionLine()
        self._written = 0.0  # when the last report was written, by the monotonic clock, 0 for never
        self._closed = False

    def begin(self) -> None:
        """Begin now, or as soon as the program initialises a device."""
        torch.cuda._lazy_call(self._initialised)

    def close(self) -> None:
        """Stop reporting."""
        global _answer
        self._closed = True
        if _answer == self.answer:
            _answer = None
        self._mention.off()
        self._watch.caution.end()

    def _initialised(self) -> None:
        global _answer, _attached
        if self._closed or cuda.backend() != cuda.NATIVE:  # other allocators have no observers
            return
        _answer = self.answer
        if not _attached:
            _attached = True
            torch._C._cuda_attach_out_of_memory_observer(_observe)
        self._mention.on()
        self._watch.caution.begin()
        self._watch.link.wake()  # its thread decides while there are no steps

    def answer(self, request: Request) -> None:
        """Write the report, and add its path to the text of the exception."""
        self._mention.next("")
        now = time.monotonic()
        if self._written and now - self._written < PAUSE:
            return
        self._written = now
        try:
            path = self._write(request)
            if not rehearsed():  # a rehearsal reads the files at once and removes them
                self._mention.next(f"memtop: what held the memory: memtop open {path}")
        except Exception as error:
            let_through(error)
            self._mention.next(f"memtop: what held the memory could not be written: {error}")

    def _write(self, request: Request) -> str:
        """Write the files, and return the path of the snapshot."""
        contents = snapshot()
        shorten(contents, MOST_ENTRIES)
        write_request(contents, request)
        write_notes(contents, self._watch.known(request.device), self._watch.link.tables)
        this, now = identity.this(), time.time_ns() // 1000
        name = f"{this.pid}-{now}"
        answer = {
            **account(contents, request), "pid": this.pid, "command": this.command, "host": socket.gethostname(),
            "time_us": now, "step": self._watch.step, "snapshot": f"{name}.pickle",
        }  # fmt: skip
        folder = report_files.write({f"{name}.pickle": pickled(contents), f"{name}.json": json.dumps(answer).encode()})
        return os.path.join(folder, f"{name}.pickle")


@unseen
def _observe(device: int, asked: int, total: int, free: int, *_: Any) -> None:
    """Handle PyTorch's call. Raise nothing of the agent's: PyTorch would raise that instead of its own exception."""
    with ignored(Exception):  # the program is out of memory: do not add to its trouble
        if _answer is not None:
            _answer(Request(device, asked, free, total, frames_of(asker())))
