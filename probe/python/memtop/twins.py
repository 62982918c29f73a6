"""Twins: what is known of small tensors on a device that computes nothing.

What comes from the host is known, and so is what is computed from known values alone. The storage of such a
tensor has a twin on the processor, which each operation on the device is repeated on. A write of anything else
raises PyTorch's count of writes (`_version`), so that the twin no longer counts. A twin goes with its storage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .threads import touches

MOST = 1 << 14  # elements
MOST_CONDITIONS = 1 << 28  # elements, of checks of whole weights
ROOM = 1 << 8  # twins, after which those whose storages are gone are dropped


@dataclass
class _Twin:
    storage: Any  # a weak reference, so that no other storage gets its number
    content: Any  # the same bytes, on the processor
    writes: int  # PyTorch's count of writes to a tensor of the storage


class Twins:
    """The twins of one process. Any thread that computes may call the methods."""

    def __init__(self) -> None:
        self._twins: dict[int, _Twin] = {}  # by the number of the storage
        self._room = ROOM

    @touches
    def of(self, x: Any) -> Any:
        """Return what is known of a tensor, as a tensor on the processor that shares the twin's bytes, or None."""
        if not x.is_cuda:
            return x
        if not _plain(x):
            return None
        storage = x.untyped_storage()
        twin = self._twins.get(storage._cdata)
        if twin is None or twin.content.nbytes() != storage.nbytes():
            return None
        if not x.is_inference() and twin.writes != x._version:
            self._twins.pop(storage._cdata, None)
            return None
        return _seen(x, twin)

    @touches
    def all_of(self, values: Iterable[Any]) -> list[Any] | None:
        """Return operands with what is known in place of tensors, None if something is not known or is large."""
        found = []
        for value in values:
            if isinstance(value, torch.Tensor):
                most = MOST_CONDITIONS if value.dtype == torch.bool else MOST
                if value.numel() > most or (value := self.of(value)) is None:
                    return None
            elif isinstance(value, (list, tuple)) and (value := self.all_of(value)) is None:
                return None
            found.append(value)
        return found

    @touches
    def put(self, x: Any, value: Any) -> None:
        """Note the value of what an operation has made and returns, None if it is not known."""
        storage = x.untyped_storage()
        if value is None:
            self._twins.pop(storage._cdata, None)
            return
        twin = _Twin(StorageWeakRef(storage), torch.UntypedStorage(storage.nbytes()), _writes(x))
        _seen(x, twin).copy_(value)
        self._twins[storage._cdata] = twin
        self._tidy()

    @touches
    def write(self, x: Any, value: Any, fresh: bool) -> None:
        """Note the value that an operation writes over all of a tensor, None if it is not known. `fresh` says that no
        code of Python may have the tensor yet."""
        known = self.of(x) if value is not None else None
        if known is not None:
            known.copy_(value)
            self.wrote(x)
        elif value is not None and x.numel() * x.element_size() == x.untyped_storage().nbytes():
            self.put(x, value)
            if not (fresh and _writes(x) == 0):
                self.wrote(x)
        else:
            self.put(x, None)

    @touches
    def wrote(self, x: Any) -> None:
        """Note that an operation has changed a tensor and its twin alike. PyTorch counts that when it has returned."""
        twin = self._twins.get(x.untyped_storage()._cdata)
        if twin is not None:
            twin.writes = _writes(x) + 1

    @touches
    def _tidy(self) -> None:
        if len(self._twins) > self._room:
            self._twins = {number: twin for number, twin in list(self._twins.items()) if not twin.storage.expired()}
            self._room = 2 * len(self._twins) + ROOM


@touches
def _writes(x: Any) -> int:
    """Return how often a tensor has been written to, by PyTorch's count. In inference it does not count."""
    return 0 if x.is_inference() else int(x._version)


@touches
def _seen(x: Any, twin: _Twin) -> Any:
    """Return a twin's bytes as a tensor sees those of its storage."""
    return torch.empty(0, dtype=x.dtype, device="cpu").set_(twin.content, x.storage_offset(), x.size(), x.stride())


@touches
def _plain(x: Any) -> bool:
    """Report whether a tensor is rows of real numbers in a storage, which are what they say."""
    return x.layout == torch.strided and not (x.is_nested or x.is_complex() or x.is_quantized or x.is_neg())
