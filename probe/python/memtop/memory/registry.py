"""The registry: all storages that the agent knows, what each is for, and when it ends.

PyTorch without a caching allocator keeps no list of its memory. The registry is such a list: hooks and
scans show it tensors, it adds each storage once, and it notices the end of a storage without
keeping it alive. Everything runs under the registry's lock, with one exception: a storage may end at
any moment, in any thread. That only adds to a queue, which the next call empties.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

import torch

from ..safety.inspection import attribute_of, fields_of, is_a, items_of, static
from ..safety.interrupts import let_through
from ..safety.threads import touches
from .stacks import Stacks

OTHER = "other"
GATHERED = "gathered-parameter"  # parameters that are divided over ranks, while all parts of them are here
COMMUNICATION = "communication"  # what ranks send each other and receive

# A storage keeps its strongest category: one further left replaces one further right.
STRONGEST_FIRST = (
    "gathered-parameter", "parameter", "gradient", "optimizer", "kv-cache", "communication", "input", "activation",
    "inference", OTHER,
)  # fmt: skip
KEEPABLE = frozenset(("input", "activation", "inference", OTHER))  # what is not meant to stay
STRENGTH = {name: len(STRONGEST_FIRST) - place for place, name in enumerate(STRONGEST_FIRST)}


class Sink(Protocol):
    """Receives the new storages, their changes and their ends. Sizes are bytes."""

    @property
    def stacks(self) -> bool:
        """Whether the registry should capture the stacks of new storages."""
        ...

    def wanted(self, device: Any) -> bool: ...
    def born(self, holding: Holding) -> None: ...
    def changed(self, holding: Holding) -> None: ...
    def died(self, holding: Holding) -> None: ...


class Holding:
    """A live storage: its place, its size and its purpose."""

    __slots__ = (
        "address",
        "born",
        "category",
        "counted",
        "device",
        "dtype",
        "keeper",
        "layer",
        "reference",
        "role",
        "saved_in",
        "shape",
        "size",
        "stack",
    )

    def __init__(self, address: int, size: int, device: Any) -> None:
        self.address = address
        self.size = size
        self.device = device
        self.category = OTHER
        self.counted = OTHER  # the category under which the sink counts it
        self.layer = ""
        self.role = ""
        self.keeper = ""  # what keeps it beyond its step, and the line that does, see names.py
        self.shape = ""
        self.dtype = ""
        self.stack = 0
        self.born = 0  # the step that made it
        self.saved_in = 0  # the last step that saved it for a backward pass
        self.reference: Any = None


class Registry:
    """See the module's docstring."""

    def __init__(self, sink: Sink, stacks: Stacks) -> None:
        self.lock = threading.RLock()
        self.step = 0
        self.beside: Registry | None = None  # is shown what the sink does not want
        self._sink = sink
        self._stacks = stacks
        self._alive: dict[int, Holding] = {}
        self._gathered: set[int] = set()  # addresses of gathered parameters
        self._ended: deque[Any] = deque()  # references to storages that have ended

    def __len__(self) -> int:
        return len(self._alive)

    def holdings(self) -> list[Holding]:
        """Return all live storages that have been seen. They still belong to the registry. Any thread may ask."""
        with self.lock:
            self._remove_ended()
            return list(self._alive.values())

    @touches
    def find(self, tensor: Any) -> Holding | None:
        """Return the entry of a tensor's storage, None if it has none."""
        with self.lock:
            self._remove_ended()
            return self._alive.get(storage_of(tensor)[1])

    @touches
    def see(
        self,
        tensor: Any,
        category: str,
        layer: str = "",
        role: str = "",
        stack: int | None = None,
        keeper: str = "",
    ) -> Holding | None:
        """Add a tensor's storage, or what is newly known about it; None if it is not on a watched device. If `stack` is
        None, the stack of a new storage is captured. The last keeper counts."""
        tensor = own_part(tensor)
        storage, address = storage_of(tensor)
        if address == 0:
            return None
        if not self._sink.wanted(tensor.device):
            if self.beside is not None:
                self.beside.see(tensor, category, layer, role, stack or 0, keeper)
            return None
        with self.lock:
            self._remove_ended()
            holding = self._alive.get(address)
            if holding is None:
                return self._add(tensor, storage, address, category, layer, role, stack, keeper)
            self._update(holding, tensor, category, layer, role, keeper)
            return holding

    def keep(self, holding: Holding, keeper: str) -> None:
        """Note what keeps a storage. Any thread may call this."""
        with self.lock:
            if holding.reference is not None and holding.keeper != keeper:
                holding.keeper = keeper
                self._sink.changed(holding)

    def settle(self) -> None:
        """Remove the storages that have ended. Any thread may call this."""
        if self.beside is not None:
            self.beside.settle()
        with self.lock:
            self._remove_ended()

    @touches
    def settle_gathered(self) -> None:
        """Remove the gathered parameters whose bytes were freed. Their storages are kept for the next time."""
        with self.lock:
            self._remove_ended()
            for holding in [self._alive[address] for address in self._gathered if address in self._alive]:
                storage = holding.reference()
                if storage is None or storage.data_ptr() != holding.address:
                    self._forget(holding)
            self._gathered.intersection_update(self._alive)

    def clear(self, sink: Sink) -> None:
        """Forget everything, without reporting it, and report to this sink from now on."""
        with self.lock:
            self._sink = sink
            self._alive.clear()
            self._gathered.clear()
            self._ended.clear()

    @touches
    def _add(
        self,
        tensor: Any,
        storage: Any,
        address: int,
        category: str,
        layer: str,
        role: str,
        stack: int | None,
        keeper: str,
    ) -> Holding:
        holding = Holding(address, storage.nbytes(), tensor.device)
        holding.category, holding.layer, holding.role = category, layer, role
        holding.keeper = keeper if category in KEEPABLE else ""
        holding.shape, holding.dtype = shape_of(tensor), dtype_of(tensor)
        holding.stack = stack or 0
        if stack is None and self._sink.stacks:
            holding.stack = self._stacks.capture()
        holding.born = self.step
        # Not a Python function: an interrupt raised inside the callback would be lost to the program.
        holding.reference = _Reference(storage, self._ended.append)
        holding.reference.address = address
        self._alive[address] = holding
        if category == GATHERED:
            self._gathered.add(address)
        self._sink.born(holding)
        return holding

    @touches
    def _update(self, holding: Holding, tensor: Any, category: str, layer: str, role: str, keeper: str) -> None:
        """Add what is newly known about a storage."""
        changed = False
        if category == GATHERED:
            self._gathered.add(holding.address)
        if STRENGTH[category] > STRENGTH[holding.category]:
            holding.category, holding.role = category, role
            holding.layer = layer or holding.layer
            holding.shape, holding.dtype = shape_of(tensor), dtype_of(tensor)
            changed = True
        elif category == holding.category and (layer or role) and not holding.layer and not holding.role:
            holding.layer, holding.role, changed = layer, role, True
        if holding.category not in KEEPABLE:
            holding.keeper = ""
        elif keeper not in ("", holding.keeper):
            holding.keeper, changed = keeper, True
        if changed:
            self._sink.changed(holding)

    def _remove_ended(self) -> None:
        while self._ended:
            reference = self._ended.popleft()
            holding = self._alive.get(reference.address)
            if holding is not None and holding.reference is reference:
                self._forget(holding)

    def _forget(self, holding: Holding) -> None:
        del self._alive[holding.address]
        holding.reference = None
        self._sink.died(holding)


WHOLE = (torch.Tensor, torch.nn.Parameter)


@touches
def own_part(tensor: Any) -> Any:
    """Return this rank's part of a tensor that is divided over ranks, such as a DTensor, or the tensor itself."""
    return tensor if type(tensor) in WHOLE else attribute_of(tensor, "_local_tensor", tensor)


@touches
def storage_of(tensor: Any) -> tuple[Any, int]:
    """Return a tensor's storage and its address, 0 if it has no memory of its own with an address."""
    try:
        storage = own_part(tensor).untyped_storage()
        return storage, storage.data_ptr()
    except Exception as error:  # sparse tensors, wrappers, tensors being traced: each kind raises another exception
        let_through(error)
        return None, 0


class _Reference(weakref.ref[Any]):
    """A weak reference to a storage."""

    __slots__ = ("address",)
    address: int


@touches
def tensors_in(value: Any, depth: int = 4) -> Iterator[Any]:
    """Yield the tensors in a value: the value itself, or those in its containers and dataclass fields."""
    if is_a(value, torch.Tensor):
        yield value
    elif depth:
        items = items_of(value)
        if not items and static(type(value), "__dataclass_fields__") is not None:
            items = list(fields_of(value).values())
        for item in items:
            yield from tensors_in(item, depth - 1)


_dtypes: dict[Any, str] = {}


@touches
def dtype_of(tensor: Any) -> str:
    """Return an element type with memtop's name for it, such as fp32."""
    name = _dtypes.get(tensor.dtype)
    if name is None:
        name = str(tensor.dtype).replace("torch.", "").replace("bfloat", "bf")
        name = _dtypes[tensor.dtype] = name.replace("float", "fp") if not name.startswith("float8") else name
    return name


_shapes: dict[Any, str] = {}


@touches
def shape_of(tensor: Any) -> str:
    """Return a shape, such as "[8, 128, 512]"."""
    shape = tensor.shape
    text = _shapes.get(shape)
    if text is None:
        if len(_shapes) > 10_000:  # of sequences with many lengths
            _shapes.clear()
        text = _shapes[shape] = str(list(shape))
    return text
