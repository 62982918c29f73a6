"""Python objects that the ranks of a rehearsal send each other.

PyTorch sends the objects' sizes and bytes through the devices, but imitated devices keep no data. So
PyTorch's own calls on the devices run as always, and the objects go through the ranks' store.
"""

from __future__ import annotations

import functools
import pickle
import threading
from typing import Any, Callable

import torch

from .device_reads import SIZE, Operation, Reads
from .imitated import told
from .ranks import come
from .single_rank import replace

INTEGER = "torch.int64"  # the type of the objects' sizes in PyTorch


class Objects:
    """Wraps PyTorch's functions for objects."""

    def __init__(self, reads: Reads, c10d: Any) -> None:
        self._reads = reads
        self._c10d = c10d
        self._thread = threading.local()
        self._unpickle = c10d._tensor_to_object

    def begin(self) -> None:
        """Wrap PyTorch's functions."""
        self._c10d._tensor_to_object = self._received
        for name, others in (
            ("all_gather_object", _gathered), ("gather_object", _gathered),
            ("broadcast_object_list", _broadcast), ("scatter_object_list", _scattered),
            ("send_object_list", _sent), ("recv_object_list", _got),
        ):  # fmt: skip
            original = getattr(self._c10d, name, None)
            if original is not None:
                replace(name, self._wrapped(original, others))

    def _wrapped(self, original: Callable[..., Any], others: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def exchange(*arguments: Any, **named: Any) -> Any:
            given = _named(original, arguments, named)
            group = given.get("group") or self._c10d._get_default_group()
            if group.rank() < 0 or not self._on_device(given.get("device"), group):
                return original(*arguments, **named)
            objects = others(lambda *what: sent(group, *what)(), group, given)
            return self._answered(objects, lambda: original(*arguments, **named))

        return exchange

    def _answered(self, objects: list[bytes], call: Callable[[], Any]) -> Any:
        """Call PyTorch's function. It takes these objects as received from the device."""
        longest = max(map(len, objects), default=0)
        self._thread.objects = iter(objects)
        try:
            with self._reads.during(Operation(SIZE, answer=longest, type=INTEGER, noted=False)):
                return call()
        finally:
            self._thread.objects = None

    def _received(self, *arguments: Any, **named: Any) -> Any:
        objects = getattr(self._thread, "objects", None)
        if objects is None:
            return self._unpickle(*arguments, **named)
        return pickle.loads(next(objects))

    def _on_device(self, device: Any, group: Any) -> bool:
        """Report whether the device that the program named, or the group's own, exchanges objects. A group may be a
        bare backend, as that of `torch.distributed.rpc`."""
        of = getattr(self._c10d, "_get_object_coll_device", None) or self._c10d._get_pg_default_device
        return "cpu" not in str(device or of(group))


_sent_so_far: dict[str, int] = {}  # by group and pair of ranks, the number of exchanges


def sent(group: Any, mine: bytes, ranks: list[int], between: str = "") -> Callable[[], list[bytes]]:
    """Send what this rank of a group has, if it is one of `ranks`. Return what waits for those of all of them, and
    returns them. If the other ranks do not run, assume that they sent the same. `between` names the two ranks of a
    send, "" for all."""
    store = torch.distributed.distributed_c10d._get_default_store()
    if _alone(store):
        return lambda: [mine] * len(ranks)
    name = f"{group.group_name}/{between}"
    number = _sent_so_far[name] = _sent_so_far.get(name, 0) + 1
    if group.rank() in ranks:
        store.set(f"memtop/{name}/{number}/{group.rank()}", mine)
    return lambda: [come(store, f"memtop/{name}/{number}/{rank}") for rank in ranks]


def _alone(store: Any) -> bool:
    """Report whether the other ranks of the job do not run. A store may be wrapped in others."""
    if told()["world"]:
        return True
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return isinstance(store, torch.distributed.HashStore)


def _named(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by their names."""
    code = getattr(function, "__wrapped__", function).__code__
    return {**dict(zip(code.co_varnames, arguments)), **named}


def _root(group: Any, given: dict[str, Any], of: str) -> int:
    """Return the rank within the group that sends or receives: the argument `of`."""
    if given.get(f"group_{of}") is not None:
        return int(given[f"group_{of}"])
    return int(torch.distributed.get_group_rank(group, given.get(of) or 0))


def _gathered(exchange: Any, group: Any, given: dict[str, Any]) -> list[bytes]:
    objects: list[bytes] = exchange(pickle.dumps(given["obj"]), list(range(group.size())))
    return objects


def _broadcast(exchange: Any, group: Any, given: dict[str, Any]) -> list[bytes]:
    return _from_root(exchange, group, given, given["object_list"])


def _scattered(exchange: Any, group: Any, given: dict[str, Any]) -> list[bytes]:
    objects = _from_root(exchange, group, given, given.get("scatter_object_input_list"))
    return objects[group.rank() : group.rank() + 1] or [pickle.dumps(None)]


def _from_root(exchange: Any, group: Any, given: dict[str, Any], objects: Any) -> list[bytes]:
    """Return the root's list of objects, or this rank's own if the root does not run."""
    return _unpacked(exchange(_packed(objects), [_root(group, given, "src")])[0])


def _sent(exchange: Any, group: Any, given: dict[str, Any]) -> list[bytes]:
    me = group.rank()
    exchange(_packed(given["object_list"]), [me], f"{me} to {_root(group, given, 'dst')}")
    return []


def _got(exchange: Any, group: Any, given: dict[str, Any]) -> list[bytes]:
    source = _root(group, given, "src")
    return _unpacked(exchange(_packed(given["object_list"]), [source], f"{source} to {group.rank()}")[0])


def _packed(objects: Any) -> bytes:
    return pickle.dumps([pickle.dumps(each) for each in objects or ()])


def _unpacked(content: bytes) -> list[bytes]:
    objects: list[bytes] = pickle.loads(content)
    return objects


def begin(reads: Reads) -> None:
    """Begin, if this build of PyTorch supports distributed training."""
    if torch.distributed.is_available():
        from torch.distributed import distributed_c10d

        Objects(reads, distributed_c10d).begin()
