"""Twins: what is known of small tensors on a device that computes nothing.

What comes from the host is known, and so is what is computed from known values alone. The storage of such a
tensor has a twin on the processor, which each operation on the device is repeated on. A write of anything else
ends the twin (`writers`), and so does the storage's end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..safety.threads import touches

MOST = 1 << 14  # elements
MOST_WHOLE = 1 << 20  # of whole numbers and conditions: labels and masks that programs check
MOST_CONDITIONS = 1 << 28  # elements, of checks of whole weights
ROOM = 1 << 8  # twins, after which those whose storages are gone are dropped


@dataclass
class _Twin:
    storage: Any  # a weak reference, so that no other storage gets its number
    content: Any  # the same bytes, on the processor; None where a graph or another process writes unseen
    coming: list[tuple[Any, Callable[[], Any]]] = field(default_factory=list)  # parts, and what fetches each


@touches
class Twins:
    """The twins of one process. Any thread that computes may call the methods."""

    def __init__(self) -> None:
        self._twins: dict[int, _Twin] = {}  # by the number of the storage
        self._room = ROOM

    def of(self, x: Any) -> Any:
        """Return what is known of a tensor, as a tensor on the processor that shares the twin's bytes, or None."""
        if not x.is_cuda:
            return x
        if not _plain(x):
            return None
        number = _number_of(x)
        twin = self._twins.get(number)
        if twin is None or twin.content is None or twin.content.nbytes() != x.untyped_storage().nbytes():
            return None
        if not _came(twin):
            self._twins.pop(number, None)
            return None
        return _seen(x, twin)

    def all_of(self, values: Iterable[Any]) -> list[Any] | None:
        """Return operands with what is known in place of tensors, None if something is not known or is large."""
        found = []
        for value in values:
            if isinstance(value, torch.Tensor):
                large = value.numel() > MOST_CONDITIONS if value.dtype == torch.bool else not small(value)
                if large or (value := self.of(value)) is None:
                    return None
            elif isinstance(value, (list, tuple)) and (value := self.all_of(value)) is None:
                return None
            found.append(value)
        return found

    def put(self, x: Any, value: Any) -> None:
        """Note the value of what an operation has made and returns, None if it is not known."""
        number = _number_of(x)
        earlier = self._twins.get(number)
        if earlier is not None and earlier.content is None and not earlier.storage.expired():
            return
        captured = torch._C._cuda_isCurrentStreamCapturing()
        if value is None and not (captured and small(x)):
            self._twins.pop(number, None)
            return
        storage = x.untyped_storage()
        content = None if captured else torch.UntypedStorage(storage.nbytes())
        twin = self._twins[number] = _Twin(StorageWeakRef(storage), content)
        if content is not None:
            _seen(x, twin).copy_(value)
        self._tidy()

    def write(self, x: Any, value: Any) -> None:
        """Note the value that an operation writes over all of a tensor, None if it is not known."""
        known = self.of(x) if value is not None else None
        if known is not None and not torch._C._cuda_isCurrentStreamCapturing():
            known.copy_(value)
        elif value is not None and x.numel() * x.element_size() == x.untyped_storage().nbytes():
            self.put(x, value)
        else:
            self.put(x, None)

    def receive(self, x: Any, fetch: Callable[[], Any]) -> None:
        """Note that a tensor gets what other ranks sent: what `fetch` returns, None if they do not know it. It waits
        for them, so it is called when the value is needed."""
        if x.numel() * x.element_size() == x.untyped_storage().nbytes():
            self.put(x, torch.zeros((), dtype=x.dtype, device="cpu"))
        twin = self._twins.get(_number_of(x))
        if twin is not None and twin.content is not None and _plain(x):
            twin.coming.append((_seen(x, twin), fetch))

    def share(self, storage: Any) -> None:
        """Note that other processes write to a storage, too."""
        self._twins[storage._cdata] = _Twin(StorageWeakRef(storage), None)

    def forget(self, written: Any) -> None:
        """Note that something else has written to tensors."""
        if isinstance(written, torch.Tensor):
            if written.is_cuda and written.layout == torch.strided:
                self.put(written, None)
        elif isinstance(written, (list, tuple)):
            for each in written:
                self.forget(each)

    def _tidy(self) -> None:
        if len(self._twins) > self._room:
            self._twins = {number: twin for number, twin in list(self._twins.items()) if not twin.storage.expired()}
            self._room = 2 * len(self._twins) + ROOM


@touches
def _number_of(x: Any) -> int:
    """Return the number of a tensor's storage. PyTorch adds gradients in place only where Python has not asked for the
    storage itself, so only that of a small tensor is asked for: it would change what the program takes."""
    return int(torch._C._storage_address(x))


@touches
def _came(twin: _Twin) -> bool:
    """Wait for what is coming. Report whether it is known."""
    while twin.coming:
        part, fetch = twin.coming.pop(0)
        value = fetch()
        if value is None:
            return False
        part.copy_(value)
    return True


@touches
def _seen(x: Any, twin: _Twin) -> Any:
    """Return a twin's bytes as a tensor sees those of its storage."""
    return torch.empty(0, dtype=x.dtype, device="cpu").set_(twin.content, x.storage_offset(), x.size(), x.stride())


@touches
def small(x: Any) -> bool:
    """Report whether a tensor is followed."""
    return bool(x.numel() <= (MOST if x.is_floating_point() or x.is_complex() else MOST_WHOLE))


@touches
def _plain(x: Any) -> bool:
    """Report whether a tensor is rows of real numbers in a storage, which are what they say."""
    return x.layout == torch.strided and not (x.is_nested or x.is_complex() or x.is_quantized or x.is_neg())
