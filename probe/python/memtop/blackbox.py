"""The black box of this process: what it keeps in a file that survives the process, and when it is written.

While no viewer watches, the training thread writes: a state when it has looked, and steps. Then the box
is a session's first batch, and the steps that follow. While viewers watch, the server's thread writes what
a viewer would have got, once a second. The training thread never waits for the other.
"""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import Any, Callable

from . import boxfile, place
from .answer import Piece
from .box import Box, Full
from .gauges import HOST, host_gauge
from .imitated import rehearsed
from .interrupts import ignored, let_through
from .journal import GAUGES, STEP, Journal
from .process import Process
from .program import Json
from .sampling import Sampling
from .session import Session
from .shared import Shared
from .shortening import fitted
from .wire import Frames

ENCODING = "crc32"  # the checksum that Python makes fast, and that most viewers ask for
FOLLOWING, IDLE = 1.0, 10.0  # seconds between two writes of the server's thread, with viewers and without
RETRY = 10.0  # seconds after a state that did not fit
SHARE = 0.003  # of the program's time that following may take
MOST_OF_SLOT = 0.75  # a larger state leaves too little room for steps

Sessions = Callable[[Frames, Shared, float], Session]
_TOO_LARGE = "what held the memory did not fit into the black box: MEMTOP_BLACK_BOX=64MiB makes a larger one"


class BlackBox:
    """`note` and `look` belong to the training thread, `due` and `tend` to the server's thread. Any thread may call the
    rest."""

    def __init__(self, journal: Journal, sessions: Sessions, shared: Shared) -> None:
        self.problem = ""  # why there is no box although one is wanted
        self.knows = False  # the box has a state of the memory
        self.looked: Callable[[], bool] = bool  # whether memory was measured since the first viewer came
        self.gauges: Callable[[], list[Json]] = _of_machine  # of the machine, and of devices
        self._journal = journal
        self._sessions = sessions
        self._shared = shared
        self._box: Box | None = None
        self._in_memory = False
        self._frames = Frames(ENCODING)
        self._session: Session | None = None  # while viewers watch
        self._watched = False
        self._state_bytes = 0  # how many bytes of the slot are the state, 0 if what follows cannot be told from it
        self._tend_at = 0.0
        self._purse = Sampling(share=SHARE, credit_ns=50_000_000)
        self._lock = threading.Lock()

    @property
    def on(self) -> bool:
        """Whether there is a box."""
        return self._box is not None

    @property
    def size(self) -> int:
        """The size of the file, 0 if there is none."""
        box = self._box
        return 0 if box is None else box.file.size

    @property
    def shared(self) -> int:
        """The size of the file if it is in memory, else 0."""
        return self.size if self._in_memory else 0

    @property
    def path(self) -> str:
        """The path of the file, "" if there is none."""
        box = self._box
        return "" if box is None else box.file.path

    def start(self, process: Process) -> None:
        """Make the box. If that fails, `problem` says why."""
        if rehearsed():
            return
        try:
            file = boxfile.make(process)
        except (place.Unsafe, ValueError, OSError) as error:
            let_through(error)
            self.problem = _reason(error)
            return
        if file is not None:
            atexit.register(self.close)
            # Children of multiprocessing end without the functions of atexit.
            multiprocessing.util.Finalize(None, self.close, exitpriority=0)
            os.register_at_fork(after_in_child=self.abandon)
            self._begin_file(file)

    def begin_again(self, process: Process) -> None:
        """Make another box if the program has closed the file of this one."""
        had = self.on
        self._write(lambda box: box.file.harm())
        if had and not self.on:
            self.start(process)

    def _begin_file(self, file: boxfile.File) -> None:
        self._in_memory = boxfile.in_memory(os.path.dirname(file.path))
        self._box = Box(file)
        self._tend_at = time.monotonic() + IDLE

        def first(box: Box) -> None:
            self._begin(box, Shared(0), known=False)
            file.name()

        self._write(first)

    def watch(self, watched: bool) -> None:
        """Note that viewers have come, or that the last one has left."""
        with self._lock:
            self._watched, self._session = watched, None
            self._tend_at, self._state_bytes = 0.0, 0
            self._purse.begin()

    def note(self, kind: int, data: Any) -> None:
        """Write a message, unless viewers watch or the server's thread is writing."""
        self._write(lambda box: self._note(box, kind, data), wait=False)

    def look(self, after: Callable[[], None]) -> None:
        """Write the journal's state, and then what `after` adds to the journal, unless viewers watch or the server's
        thread is writing."""
        self._write(lambda box: self._take(box, after), wait=False)

    def _take(self, box: Box, after: Callable[[], None]) -> None:
        session = None if self._watched else self._begin(box, Shared(0))
        if session is not None:
            after()
            _add(box, session.catch_up())
            box.publish()
            self._state_bytes = box.written

    def due(self) -> float | None:
        """Return when to call `tend`, None for never."""
        return None if self._box is None else self._tend_at

    def tend(self) -> None:
        """Write what is due."""
        now = time.monotonic()
        if self._box is not None and now >= self._tend_at:
            self._tend_at = now + (FOLLOWING if self._watched else IDLE)
            self._write(self._tend)

    def close(self) -> None:
        """Remove the box: the program ends by itself."""
        with self._lock:
            box, self._box = self._box, None
            if box is not None:
                box.file.remove()

    def abandon(self) -> None:
        """Let go of the box in a forked child: it is the parent's."""
        self._lock = threading.Lock()  # another thread may have held it, and the child has no such thread
        box, self._box = self._box, None
        if box is not None:
            box.file.leave()

    def _write(self, work: Callable[[Box], object], wait: bool = True) -> None:
        """Let `work` write to the box. Unless it may wait, do nothing while another thread writes. Give up the box if
        it cannot be written."""
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if self._box is not None:
                work(self._box)
        except (OSError, Full) as error:
            let_through(error)
            self._lose(_reason(error))
        finally:
            self._lock.release()

    def _note(self, box: Box, kind: int, data: Any) -> None:
        if not self._watched:
            self._append(box, self._frames.message(kind, data))

    def _tend(self, box: Box) -> None:
        box.alive()
        if harm := box.file.harm():
            self._lose(harm)
        elif not self._watched:
            if gauges := self.gauges():
                self._append(box, self._frames.message(GAUGES, gauges))
        elif self.looked() and self._purse.next(round(FOLLOWING * 1e9)):
            start = time.thread_time_ns()
            self._follow(box)
            self._purse.pay(time.thread_time_ns() - start)

    def _follow(self, box: Box) -> None:
        """Write the news as a viewer would get them."""
        if self._session is not None and not self._session.torn:
            with ignored(Full):
                _add(box, self._session.catch_up())
                box.publish()
                return
        self._session = self._begin(box, self._shared)
        self._state_bytes = 0

    def _begin(self, box: Box, shared: Shared, known: bool = True) -> Session | None:
        """Begin a generation with the journal's state, without that of the memory if it is not `known` or too large.
        Return None if not even that fits: the old generation then counts."""
        for whole in (True, False) if known else (False,):
            self._frames = Frames(ENCODING)
            session = self._sessions(self._frames, shared, FOLLOWING)
            session.fit = partial(fitted, most=box.slot_bytes // 2)
            box.begin()
            try:
                _add(box, session.greet(*([_TOO_LARGE] if known and not whole else [])))
                _add(box, session.begin(whole))
                if whole and box.written > MOST_OF_SLOT * box.slot_bytes:
                    raise Full
            except Full:
                continue
            box.publish()
            self._state_bytes, self.knows = box.written, whole
            return session
        self._tend_at = time.monotonic() + RETRY
        return None

    def _append(self, box: Box, frame: bytes) -> None:
        """Add a frame. If the slot is full, begin again with its state and the last steps."""
        if not box.counts:  # its generation did not fit
            return
        try:
            box.add(frame)
        except Full:
            state = box.head(self._state_bytes)
            if not state:
                self._begin(box, Shared(0), known=False)
                return
            box.begin()
            box.add(state)
            for step in self._journal.latest(STEP):
                box.add(self._frames.message(STEP, {**step, "layers": []}))
            for gauges in self._journal.latest(GAUGES):
                box.add(self._frames.message(GAUGES, gauges))
        box.publish()

    def _lose(self, problem: str) -> None:
        """Give up the box. The program goes on."""
        box, self._box, self.problem = self._box, None, problem
        if box is not None:
            box.file.remove()


def _of_machine() -> list[Json]:
    gauge = host_gauge(HOST)
    return [gauge] if gauge else []


def _add(box: Box, pieces: Iterable[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, bytes) and piece:
            box.add(piece)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__
