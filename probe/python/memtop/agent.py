"""The agent: joins the part that watches the program with the link to memtop's host."""

from __future__ import annotations

import multiprocessing.util
import os
import re
import time
from typing import Any

import torch

from . import __version__
from .link.host import host_of_job
from .link.program import Json
from .link.queue import GAUGES, Link
from .memory.device_ledger import DeviceLedger
from .memory.out_of_memory import OutOfMemory
from .rehearsal.imitated import rehearsed, title
from .safety.threads import start as start_thread
from .watch.watch import Watch

OLDEST = 2, 6  # version of PyTorch that is tested; in those before 2.5, weak references to storages crash Python
_agent: Agent | None = None
IDLE = 10.0  # seconds between two gauges of the machine while no viewer watches


def start(host: str = "") -> None:
    """Start the agent of this process. If it runs already, it takes the host, unless it has one. PyTorch must have been
    imported. Without a path, the host is that of the job."""
    global _agent
    if tuple(map(int, re.findall(r"\d+", torch.__version__)[:2])) < OLDEST:
        raise ImportError(f"memtop's agent needs PyTorch {'.'.join(map(str, OLDEST))}, and this is {torch.__version__}")
    if _agent is None:
        _agent = Agent(host or host_of_job())
    elif host:
        _agent.link.meet(host)


def watching() -> Watch | None:
    """Return the watch of this process's agent, None if no agent runs."""
    return None if _agent is None else _agent.watch


def stop() -> None:
    """Stop the agent: remove its socket now, and its hooks at the end of the current step."""
    global _agent
    if _agent is not None:
        _agent.close()
        _agent = None


def _abandon() -> None:
    """Drop the agent in a forked child: it belongs to the parent."""
    global _agent
    if _agent is not None:
        _agent.watch.abandon()
        _agent = None


os.register_at_fork(after_in_child=_abandon)


class Agent:
    """Answers the host's questions about the program. The link's thread calls its methods."""

    def __init__(self, host: str) -> None:
        self.link = Link()
        self.watch = Watch(self.link)
        self.watch.settings.refused = self.link.refuse
        self.cards = DeviceLedger(self.link, lambda: self.watch.step)
        self.cards.kept = lambda: self.link.boxed
        self.link.tasks += [self.cards, _Pulse(self), self.watch.caution]
        self.watch.guard.failed = self._give_up
        self.link.begin(self, host)
        # Children of multiprocessing end without the functions of atexit.
        multiprocessing.util.Finalize(None, self.link.close, ("the program ended",), exitpriority=0)
        self.out_of_memory = OutOfMemory(self.watch)
        self.out_of_memory.begin()

    def close(self, reason: str = "the agent was stopped") -> None:
        """Stop, and tell the viewers the reason."""
        self.out_of_memory.close()
        self.link.close(reason)
        self.watch.close()

    def _give_up(self, error: str) -> None:
        reason = f"the agent failed and stopped, the program goes on: {error}"
        start_thread(lambda: self.close(reason))

    def greeting(self) -> Json:
        """Say which program this is."""
        return {
            "version": __version__,
            "who": {
                "writer": f"memtop's agent {__version__}",
                "rehearsed_on": title() if rehearsed() else "",
            },
            "program": self.describe(False),
        }

    def describe(self, gauges: bool) -> Json:
        """Describe the program now, with the machine's gauges if they are asked for."""
        memory = self.watch.source()
        described: dict[str, Any] = {
            "devices": [_described(*device) for device in self.watch.devices()],
            "settings": memory.settings,
            "notices": self.watch.notices(),
            "read_only": self.watch.settings.read_only,
            "looked": self.watch.looked,
            "looking": self.watch.looking,
            "options": list(self.watch.settings.options()),
        }
        if gauges:
            described["gauges"] = self.gauges()
        return described

    def gauges(self) -> list[Json]:
        """Return the newest gauges: of the machine, and of the devices."""
        return [self.watch.gauge(), *self.cards.latest]

    def on_viewers(self, count: int) -> None:
        """Watch the program while it has viewers."""
        try:
            self.watch.want(count > 0)
            self.cards.watched = count > 0
            self.watch.unwatched.renew()
        except Exception as error:
            self.watch.guard.fail(error)

    def on_look(self) -> None:
        """Look when a step ends, for the box."""
        self.watch.unwatched.asked = True
        self.watch.steps.wake()

    def change(self, key: str, value: str, at: int = 0) -> None:
        """Change a setting from the next step on, or from step `at`."""
        self.watch.settings.change(key, value, at)


def _described(
    device: int, allocated: int, reserved: int, requested: int | None, out_of_memory: int | None, known_us: int | None
) -> Json:
    return {
        "device": device, "allocated_bytes": allocated, "reserved_bytes": reserved,
        **({} if requested is None else {"requested_bytes": requested}),
        **({} if out_of_memory is None else {"out_of_memory": out_of_memory}),
        **({} if known_us is None else {"known_us": known_us}),
    }  # fmt: skip


class _Pulse:
    """Sends the machine's gauges now and then while no viewer watches: a program may make no steps."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._next = time.monotonic() + IDLE

    def due(self) -> float | None:
        return self._next if self._agent.link.boxed and not self._agent.cards.watched else None

    def tend(self) -> None:
        self._next = time.monotonic() + IDLE
        self._agent.link.message(GAUGES, self._agent.gauges())
