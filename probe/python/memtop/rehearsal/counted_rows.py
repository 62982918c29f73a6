"""Operations of PyTorch whose number of rows the device counts, and the one that reads a single value.

In a rehearsal no device counts. So each of these operations is replaced by a function that calls PyTorch's
own and sets the count meanwhile: the real one where the values are known, else the smallest possible, or the largest.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

from ..safety.threads import called_by_pytorch
from . import foreign_writes
from .device_reads import CONDITION, INTEGER, NUMBER, SIZE, Operation, Reads
from .known_operations import KnownOperations, hidden, put_all, repeated
from .received import Received
from .twins import Twins

Function = Callable[..., Any]
Counted = tuple[int, int, int]  # the smallest and the largest number of rows, and the bytes returned then
INDEX = 8  # bytes of one index


@called_by_pytorch
def _places(x: Any) -> Counted:
    return 0, x.numel(), INDEX * x.numel() * x.dim()


@called_by_pytorch
def _distinct(x: Any, *_: Any, **__: Any) -> Counted:
    """Of two possible values, PyTorch counts one and takes the rest as the other: both can occur if one row is left."""
    one = int(x.dtype != torch.bool and x.numel() > 0)  # at least
    most = x.numel() - 1 if x.dtype == torch.bool else x.numel()
    return one, max(most, 0), x.nbytes + INDEX * x.numel()


@called_by_pytorch
def _distinct_rows(x: Any, dim: int, *_: Any, **__: Any) -> Counted:
    rows = x.size(dim) if x.dim() else 1
    return min(rows, 1), rows, x.nbytes + INDEX * rows


COUNTED: dict[str, Callable[..., Counted]] = {
    "nonzero": _places,
    "_unique": _distinct,
    "_unique2": _distinct,
    "unique_consecutive": _distinct,
    "unique_dim": _distinct_rows,
    "unique_dim_consecutive": _distinct_rows,
}

READS = "_local_scalar_dense"  # what item(), float() and int() call


class CountedRows:
    """Keeps the functions that replace PyTorch's."""

    def __init__(self, reads: Reads, upper: bool) -> None:
        self._reads = reads
        self._upper = upper
        self._library: Any = None
        self._twins = Twins()
        self._received = Received(self._twins)

    def begin(self) -> None:
        """Replace the operations. PyTorch's own functions still make the same requests for memory."""
        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a function being replaced
            if hasattr(torch.library, "get_kernel"):  # since PyTorch 2.9
                for name, most in COUNTED.items():
                    self._library.impl(name, self._counted(name, _original(name), most), "CUDA", with_keyset=True)
                self._library.impl(READS, self._one(_original(READS)), "CUDA", with_keyset=True)
                KnownOperations(self._twins, self._reads).begin(self._library)
                self._received.begin()
                foreign_writes.begin(self._twins)
                self._reads.twins = True
            else:  # older versions: call the variant with an output argument, which is not replaced
                self._library.impl("nonzero", self._counted("nonzero", _nonzero, _places, keys=False), "CUDA")

    def _counted(self, name: str, original: Function, most: Callable[..., Counted], keys: bool = True) -> Function:
        @hidden
        def count(*arguments: Any, **named: Any) -> Any:
            least, rows, at_most = most(*arguments[keys:], **named)
            operation = Operation(SIZE, answer=rows if self._upper else least, most=rows, at_most=at_most)
            known = self._twins.all_of(arguments[keys:]) if keys else None
            if known is not None:
                values = repeated(name, known, named)
                operation = Operation(SIZE, answer=_rows(name, known, values), certain=True)
            with self._reads.during(operation):
                result = original(*arguments, **named)
            if known is not None:
                put_all(self._twins, result, values)
            return result

        return count

    def _one(self, original: Function) -> Function:
        @hidden
        def read(keys: Any, x: Any) -> Any:
            known = self._twins.all_of((x,))
            answer = None if known is None else known[0].item()
            certain = answer is not None
            with self._reads.during(
                Operation(_kind(x.dtype), answer, type=str(x.dtype), certain=certain, address=x.data_ptr())
            ):
                return original(keys, x)

        return read


def _original(name: str) -> Function:
    call: Function = torch.library.get_kernel(f"aten::{name}", "CUDA").call_boxed
    return call


def _rows(name: str, known: list[Any], values: Any) -> int:
    """Return what the device counts in an operation with these results."""
    if name.startswith("_unique") and known[0].dtype == torch.bool:
        return int(known[0].sum())  # of two possible values it counts one
    first = values if isinstance(values, torch.Tensor) else values[0]
    return int(first.size(known[1] if name.startswith("unique_dim") else 0))


@hidden
def _nonzero(x: Any) -> Any:
    return torch.ops.aten.nonzero.out(x, out=torch.empty(0, dtype=torch.long, device=x.device))


def _kind(dtype: torch.dtype) -> str:
    if dtype in (torch.bool, torch.uint8):  # uint8 tensors are used as flags too
        return CONDITION
    return NUMBER if dtype.is_floating_point or dtype.is_complex else INTEGER
