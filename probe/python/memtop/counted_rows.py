"""Operations of PyTorch whose number of rows the device counts, and the one that reads a single value.

In a rehearsal no device counts. So each of these operations is replaced by a function that calls PyTorch's
own and sets the count meanwhile: zero, or the largest possible count.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

from .reads import CONDITION, INTEGER, NUMBER, SIZE, Operation, Reads
from .threads import called_by_pytorch

Function = Callable[..., Any]
Counted = tuple[int, int]  # the largest number of rows, and the bytes returned then
INDEX = 8  # bytes of one index


@called_by_pytorch
def _places(x: Any) -> Counted:
    return x.numel(), INDEX * x.numel() * x.dim()


@called_by_pytorch
def _distinct(x: Any, *_: Any, **__: Any) -> Counted:
    """Of two possible values, PyTorch counts one and takes the rest as the other: both can occur if one row is left."""
    most = x.numel() - 1 if x.dtype == torch.bool else x.numel()
    return max(most, 0), x.nbytes + INDEX * x.numel()


@called_by_pytorch
def _distinct_rows(x: Any, dim: int, *_: Any, **__: Any) -> Counted:
    rows = x.size(dim) if x.dim() else 1
    return rows, x.nbytes + INDEX * rows


COUNTED: dict[str, Callable[..., Counted]] = {
    "nonzero": _places,
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

    def begin(self) -> None:
        """Replace the operations. PyTorch's own functions still make the same requests for memory."""
        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a function being replaced
            if hasattr(torch.library, "get_kernel"):  # since PyTorch 2.9
                for name, most in COUNTED.items():
                    self._library.impl(name, self._counted(_original(name), most), "CUDA", with_keyset=True)
                self._library.impl(READS, self._one(_original(READS)), "CUDA", with_keyset=True)
            else:  # older versions: call the variant with an output argument, which is not replaced
                self._library.impl("nonzero", self._counted(_hidden(_nonzero), _places, keys=False), "CUDA")

    def _counted(self, original: Function, most: Callable[..., Counted], keys: bool = True) -> Function:
        def count(*arguments: Any, **named: Any) -> Any:
            rows, at_most = most(*arguments[keys:], **named)
            operation = Operation(SIZE, answer=rows if self._upper else 0, most=rows, at_most=at_most)
            with self._reads.during(operation):
                return original(*arguments, **named)

        return _hidden(count)

    def _one(self, original: Function) -> Function:
        def read(keys: Any, x: Any) -> Any:
            with self._reads.during(Operation(_kind(x.dtype), type=str(x.dtype))):
                return original(keys, x)

        return _hidden(read)


def _original(name: str) -> Function:
    call: Function = torch.library.get_kernel(f"aten::{name}", "CUDA").call_boxed
    return call


def _nonzero(x: Any) -> Any:
    return torch.ops.aten.nonzero.out(x, out=torch.empty(0, dtype=torch.long, device=x.device))


def _kind(dtype: torch.dtype) -> str:
    if dtype in (torch.bool, torch.uint8):  # uint8 tensors are used as flags too
        return CONDITION
    return NUMBER if dtype.is_floating_point or dtype.is_complex else INTEGER


def _hidden(function: Any) -> Function:
    """Hide a function from the stacks that PyTorch records for its requests, so that no line of it shows up there."""
    function.__code__ = function.__code__.replace(co_filename="<frozen memtop.counted_rows>")
    hidden: Function = function
    return hidden
