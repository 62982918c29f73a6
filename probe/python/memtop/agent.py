"""The agent: joins the part that watches the program with the server that viewers ask."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import __version__
from .cards import Cards
from .imitated import rehearsed, title
from .journal import Journal
from .oom import OutOfMemory
from .program import Info, Json
from .server import Server
from .threads import start as start_thread
from .watch import Watch

_agent: Agent | None = None


def start() -> None:
    """Start the agent of this process, unless it runs already. PyTorch must have been imported."""
    global _agent
    if _agent is None:
        _agent = Agent()


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
    """Answers the server's questions about the program. The server's threads call its methods."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.watch = Watch(self.journal)
        self.server = Server(self.journal, self)
        self.watch.settings.refused = self.server.refuse
        self.box = self.watch.unwatched.box = self.server.box
        self.box.looked = self.looked
        self.cards = Cards(self.journal, lambda: self.watch.step)
        self.box.gauges = self.gauges
        self.watch.ledger.box_bytes = lambda: self.box.shared
        self.watch.ledger.boxed = lambda: self.box.on
        self.watch.ledger.wake = self.server.wake
        self.cards.kept = lambda: self.box.size > 0
        self.server.tasks += [self.watch.ledger, self.cards]
        self.watch.guard.failed = self._give_up
        self.server.start()
        self.server.keep_box()
        self.out_of_memory = OutOfMemory(self.watch)
        self.out_of_memory.begin()

    def close(self, reason: str = "the agent was stopped") -> None:
        """Stop, and tell the viewers the reason."""
        self.out_of_memory.close()
        self.server.close(reason)
        self.watch.close()

    def _give_up(self, error: str) -> None:
        reason = f"the agent failed and stopped, the program goes on: {error}"
        start_thread(lambda: self.close(reason))

    def info(self) -> Info:
        """Describe the current state of the program."""
        memory = self.watch.source()
        return Info(
            devices=self.watch.devices(),
            writer=f"memtop's agent {__version__}",
            settings=memory.settings,
            notices=self.watch.notices(),
            rehearsed_on=title() if rehearsed() else "",
            capabilities=("steps", "stacks", "gauges"),
            gauges=self.gauges(),
            read_only=self.watch.settings.read_only,
            black_box=self.box.path,
            boxless=self.box.problem,
        )

    def gauges(self) -> list[Json]:
        """Return the newest gauges: of the machine, and of the devices."""
        machine = self.watch.gauge()
        return [*([machine] if machine else []), *self.cards.latest]

    def looked(self) -> bool:
        """Report whether the agent has measured the memory since the first viewer came."""
        return self.watch.looked

    def looking(self) -> bool:
        """Report whether no whole step or call has been measured yet since the first viewer came."""
        return self.watch.looking

    def options(self) -> Sequence[Json]:
        """Return the settings that a viewer may change."""
        return self.watch.settings.options()

    def on_viewers(self, count: int) -> None:
        """Watch the program while it has viewers."""
        try:
            self.watch.want(count > 0)
            self.watch.ledger.watched = self.cards.watched = count > 0
            self.box.watch(count > 0)
            self.watch.unwatched.renew()
        except Exception as error:
            self.watch.guard.fail(error)

    def change(self, key: str, value: str, at: int = 0) -> None:
        """Change a setting from the next step on, or from step `at`."""
        self.watch.settings.change(key, value, at)

    def predict(self, key: str, value: str) -> Json | None:
        """Predict what a change would do."""
        return self.watch.settings.predict(key, value)

    def snapshot(self) -> bytes:
        """Return a memory snapshot in PyTorch's format."""
        return self.watch.source().snapshot()
