"""What is written when a program runs out of memory: a snapshot and its answer, before the exception is raised.

PyTorch calls its observers in the thread whose request failed. It has no way to take one
back, so there is one for the whole life of the process, which does nothing while no
agent runs. None is attached before the program has initialised the device: some
versions crash.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import time
from typing import Any, Callable

import torch

from . import cuda, dead, process
from .history import History
from .imitated import rehearsed
from .mention import Mention
from .shortage import Request, account, frames_of, write_notes, write_request
from .snapshots import MOST_ENTRIES, pickled, shorten
from .threads import called_by_pytorch
from .watch import Watch

PAUSE = 60.0  # seconds between two times that something is written, at least

_answer: Callable[[Request], None] | None = None  # what the observer calls
_attached = False


class OutOfMemory:
    """Answers failed requests of a program, from the moment on at which it has a device."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._mention = Mention()
        self._history = History()
        self._written = 0.0  # when something was last, of the monotonic clock, 0 for never
        self._closed = False

    def begin(self) -> None:
        """Begin, now or as soon as the program initialises a device."""
        torch.cuda._lazy_call(self._initialised)

    def close(self) -> None:
        """Answer no more."""
        global _answer
        self._closed = True
        if _answer == self.answer:
            _answer = None
        self._mention.off()
        self._history.off()

    def _initialised(self) -> None:
        global _answer, _attached
        attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
        if self._closed or attach is None or cuda.backend() != cuda.NATIVE:  # others have no observers
            return
        _answer = self.answer
        if not _attached:
            _attached = True
            attach(_observe)
        self._mention.on()
        if os.environ.get("MEMTOP_HISTORY", "") not in ("", "0"):
            self._history.on()

    def answer(self, request: Request) -> None:
        """Write what there is to say, and have the exception say where."""
        self._mention.next("")
        now = time.monotonic()
        if self._written and now - self._written < PAUSE:
            return
        self._written = now
        try:
            path = self._write(request)
            if not rehearsed():  # it is read at once there, and gone
                self._mention.next(f"memtop: what held the memory: memtop open {path}")
        except Exception as error:
            self._mention.next(f"memtop: what held the memory could not be written: {error}")

    def _write(self, request: Request) -> str:
        """Write the files, and return the path of the snapshot."""
        contents = torch.cuda.memory._snapshot()
        shorten(contents, MOST_ENTRIES)
        write_request(contents, request)
        write_notes(contents, self._watch.known(request.device))
        this, now = process.this(), time.time_ns() // 1000
        name = f"{this.pid}-{now}"
        answer = {
            **account(contents, request), "pid": this.pid, "command": this.command, "host": this.host, "time_us": now,
            "step": self._watch.step, "snapshot": f"{name}.pickle",
        }  # fmt: skip
        folder = dead.write({f"{name}.pickle": pickled(contents), f"{name}.json": json.dumps(answer).encode()})
        return os.path.join(folder, f"{name}.pickle")


@called_by_pytorch
def _observe(device: int, asked: int, total: int, free: int, *_: Any) -> None:
    """Be called by PyTorch, which would raise what this raises in the place of its own exception."""
    try:
        if _answer is not None:
            _answer(Request(device, asked, free, total, frames_of(sys._getframe())))
    except KeyboardInterrupt:
        _thread.interrupt_main()  # it comes right after
    except BaseException:
        pass  # the program has enough to do
