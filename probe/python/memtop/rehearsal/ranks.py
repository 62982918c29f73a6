"""What the ranks of a rehearsed job know of each other, and the imitated NCCL does not: how many of them a group has,
that all have come to a barrier, and that one has ended its rehearsal."""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any, Callable

from ..safety.interrupts import ignored
from ..start.importing import when_imported
from . import single_rank
from .imitated import told

_GROUPS = "torch.distributed.distributed_c10d"
_SPLITS = (("ProcessGroup", "split_group", 1), ("ProcessGroupNCCL2", "split", 2), ("ProcessGroupNCCLLazy", "split", 2))
_ANY = -1  # the colour of whatever splits next
PAUSE = 0.005  # seconds
PATIENCE = 300  # seconds
GONE = "memtop/gone"  # a rank has ended its rehearsal
_leave: list[Callable[[str], None]] = []
_met: dict[str, int] = {}  # barriers so far, by the name of the group


def begin(leave: Callable[[str], None]) -> None:
    """Begin once the program has imported PyTorch's groups. `leave` ends the rehearsal of this rank."""
    _leave.append(leave)
    when_imported(_GROUPS, _begin)


def _begin() -> None:
    groups = sys.modules[_GROUPS]
    with ignored(AttributeError):  # a library or a PyTorch that has no splits
        _tell_members(groups, ctypes.CDLL(None).memtop_imitation_split)
    if not told()["world"]:  # else the others do not run
        _wait_at_barriers(groups)


def _tell_members(groups: Any, tell: Any) -> None:
    """Say how many ranks split a communicator together, for all ways in which PyTorch makes a group of a part."""
    color = groups._process_group_color

    def colored(ranks: list[int]) -> int:
        result: int = color(ranks)
        tell(result, len(ranks))
        return result

    groups._process_group_color = colored
    for kind, name, place in _SPLITS:
        split = getattr(getattr(groups, kind, None), name, None)
        if split is not None:
            setattr(getattr(groups, kind), name, _told(split, place, tell))


def _told(split: Any, place: int, tell: Any) -> Any:
    """Return a method that splits, and before says how many ranks its argument at a place has."""

    def told(*arguments: Any, **named: Any) -> Any:
        tell(_ANY, len(named["ranks"] if "ranks" in named else arguments[place]))
        try:
            return split(*arguments, **named)
        finally:
            tell(_ANY, 0)

    return told


def _wait_at_barriers(groups: Any) -> None:
    """Let a barrier wait for all ranks of its group, through the store by which they found each other. A rank that
    does not come in the store's time is an error, as it is in NCCL."""
    barrier = groups.barrier

    def waited(group: Any = None, async_op: bool = False, *rest: Any, **named: Any) -> Any:
        work = barrier(group, async_op, *rest, **named)
        if not async_op and group is not groups.GroupMember.NON_GROUP_MEMBER:
            _meet(groups, group or groups._get_default_group())
        return work

    single_rank.replace("barrier", waited)


def _meet(groups: Any, group: Any) -> None:
    store = groups._world.pg_map[group][1]
    name = group.group_name
    count = _met[name] = _met.get(name, 0) + 1
    key = f"memtop/{name}/{count}"
    if store.add(key, 1) == group.size():
        store.set(f"{key}/all", "1")
    come(store, f"{key}/all")


def come(store: Any, key: str) -> bytes:
    """Wait until another rank has written a key, and return its value. If a rank has ended its rehearsal before, or the
    store has gone with it, end here, too."""
    until = time.monotonic() + PATIENCE
    with ignored(RuntimeError):
        while not store.check([key]) and time.monotonic() < until:
            if _store().check([GONE]) and not store.check([key]):
                break
            time.sleep(PAUSE)
        else:
            value: bytes = store.get(key)
            return value
    _leave[0]("settled")
    raise SystemExit


def gone() -> None:
    """Say that this rank ends its rehearsal, so that no other waits for it."""
    with ignored(KeyError, RuntimeError, ValueError):  # it is in no group
        _store().set(GONE, "1")


def _store() -> Any:
    return sys.modules[_GROUPS]._get_default_store()
