"""Operations that are repeated on twins: what they return is known where all that they take is."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any, Callable

import torch

from ..safety.interrupts import ignored
from ..safety.threads import called_by_pytorch, touches
from .device_reads import CONDITION, NUMBER, VALUES, Operation, Reads
from .twins import MOST_CONDITIONS, Twins, small

Function = Callable[..., Any]
_has_kernel_for = torch._C._dispatch_has_computed_kernel_for_dispatch_key

# Of integers, conditions and the few numbers that decide sizes and branches: masks, counters, lengths, positions.
REPEATED = (
    "add", "sub", "rsub", "mul", "div", "remainder", "fmod", "pow", "neg", "abs", "sign", "floor", "ceil", "round",
    "trunc", "minimum", "maximum", "clamp", "clamp_min", "clamp_max", "aminmax", "_aminmax", "eq", "ne", "lt", "le",
    "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "isfinite", "isnan", "isinf", "where", "masked_fill", "all", "any", "sum", "mean",
    "prod", "max", "min", "amax", "amin", "argmax", "argmin", "cumsum", "cumprod", "count_nonzero", "sort", "topk",
    "argsort", "searchsorted", "bucketize", "bincount", "repeat_interleave", "cat", "index", "masked_select",
    "index_select", "index_put", "index_fill", "index_add", "gather", "scatter", "scatter_add", "flip", "roll",
    "tril", "triu", "constant_pad_nd", "_is_all_true", "floor_divide", "sqrt", "reciprocal", "isin", "cummax",
    "cummin", "median", "kthvalue", "masked_scatter",
)  # fmt: skip
COUNTERS = "_foreach_add_.Scalar"  # of optimizers
FILLED = ("arange.start_out", "linspace.out", "eye.out", "eye.m_out")  # they write all of what they are given
SILENT = ("running_mean", "running_var")  # what operations write that are said only to read it
# Inside a power of a number PyTorch calls this with that number on the device, which cannot be handed to Python. So the
# functions that lead to it are wrapped instead.
POWER, POWERS = "pow.Tensor_Tensor_out", ("pow", "float_power")
KEPT = ("set_", "resize_", "record_stream")  # they change a tensor, but no value

# What a program asks of its own health, and the answer of a healthy one: PyTorch itself asserts by `_is_all_true`.
HEALTH = {"isfinite": True, "isnan": False, "isinf": False, "_is_all_true": True}


def hidden(function: Function) -> Function:
    """Mark a function that PyTorch calls: no line of it shows up in the stacks that are recorded for its requests."""
    unlisted: Any = function
    unlisted.__code__ = unlisted.__code__.replace(co_filename="<frozen memtop.rehearsal.known_operations>")
    return called_by_pytorch(function)


class KnownOperations:
    """Replaces PyTorch's operations on CUDA by functions that call them and repeat them on twins."""

    def __init__(self, twins: Twins, reads: Reads) -> None:
        self._twins = twins
        self._reads = reads
        self._thread = threading.local()

    def begin(self, library: Any) -> None:
        """Replace the operations in a library."""
        repeated_ones = {*_overloads(REPEATED), COUNTERS}
        special: dict[str, Function] = {
            **dict.fromkeys((name for name in repeated_ones if not _writes(name)), self._return),
            **dict.fromkeys(_writers(), self._forget),
            **dict.fromkeys((name for name in repeated_ones if _writes(name)), self._repeat),
            **dict.fromkeys(FILLED, self._fill_out),
            **dict.fromkeys(("fill_.Scalar", "fill_.Tensor", "zero_"), self._fill),
            "copy_": self._copy,
            "equal": self._answer,
        }
        for name, by in special.items():
            self._replace(library, name, by)
        for name in POWERS:
            power = self._forgetting(getattr(torch, name))
            torch.jit._builtins._register_builtin(power, f"aten::{name}")  # TorchScript knows it by its identity
            setattr(torch, name, power)

    def _forgetting(self, original: Function) -> Function:
        @functools.wraps(original)
        @hidden
        def call(*arguments: Any, **named: Any) -> Any:
            result = original(*arguments, **named)
            if named.get("out") is not None:
                self._twins.forget(named["out"])
            return result

        return call

    def _replace(self, library: Any, name: str, by: Function) -> None:
        full = f"aten::{name}"
        if not torch._C._dispatch_has_kernel(full) or not _has_kernel_for(full, "CUDA"):
            return  # this PyTorch does not have it for CUDA
        original = torch.library.get_kernel(full, "CUDA").call_boxed
        library.impl(name, _taking_numbers(partial(by, name, original), name), "CUDA", with_keyset=True)

    @hidden
    def _return(self, name: str, original: Function, keys: Any, *arguments: Any, **named: Any) -> Any:
        known = self._twins.all_of(arguments)
        result = original(keys, *arguments, **named)
        if known is not None:
            put_all(self._twins, result, repeated(name, known, named))
        elif (healthy := HEALTH.get(name.partition(".")[0])) is not None and result.numel() <= MOST_CONDITIONS:
            self._twins.put(result, torch.tensor(healthy, device="cpu"))
        return result

    @hidden
    def _forget(self, name: str, original: Function, keys: Any, *arguments: Any, **named: Any) -> Any:
        if not self._repeats():
            for at, its in _written_by(name):
                self._twins.forget(arguments[at] if at < len(arguments) else named.get(its))
        return original(keys, *arguments, **named)

    def _repeats(self) -> bool:
        """Report whether this thread is inside an operation that is repeated on twins, with all that it writes."""
        return getattr(self._thread, "repeats", False)

    @hidden
    def _answer(self, name: str, original: Function, keys: Any, *arguments: Any) -> Any:
        known = self._twins.all_of(arguments)
        with self._reads.during(Operation(CONDITION, certain=known is not None)):
            answer = original(keys, *arguments)
        return answer if known is None else _named(name)(*known)

    @hidden
    def _repeat(self, name: str, original: Function, keys: Any, *arguments: Any, **named: Any) -> Any:
        if self._repeats():
            return original(keys, *arguments, **named)
        known = self._twins.all_of(arguments)
        if known is None or torch._C._cuda_isCurrentStreamCapturing():
            self._twins.forget(arguments[0])
            return original(keys, *arguments, **named)
        self._thread.repeats = True
        try:
            result = original(keys, *arguments, **named)
        finally:
            self._thread.repeats = False
        if not repeated(name, known, named, done=True):
            self._twins.forget(arguments[0])
        return result

    @hidden
    def _fill(self, _: str, original: Function, keys: Any, x: Any, *value: Any) -> Any:
        known = self._twins.all_of(value) if small(x) else None
        result = original(keys, x, *value)
        self._write(x, known[0] if known else None if value else 0)
        return result

    @hidden
    def _copy(self, _: str, original: Function, keys: Any, to: Any, source: Any, *options: Any, **named: Any) -> Any:
        known = self._twins.all_of((source,)) if small(to) else None
        if to.is_cuda:
            result = original(keys, to, source, *options, **named)
            self._write(to, known[0] if known else None)
            return result
        kind = NUMBER if to.is_floating_point() else VALUES
        if self._reads.answering():
            known = None
        with self._reads.during(Operation(kind, type=str(to.dtype), certain=known is not None)):
            result = original(keys, to, source, *options, **named)
        if known is not None:
            with torch._C.DisableTorchFunction():
                to.copy_(known[0])
        return result

    @touches
    def _write(self, x: Any, value: Any) -> None:
        if self._repeats():
            return
        with torch._C.DisableTorchFunction():
            if value is not None and not isinstance(value, torch.Tensor):
                value = torch.tensor(value, device="cpu")
            self._twins.write(x, value if small(x) else None)

    @hidden
    def _fill_out(self, name: str, original: Function, keys: Any, *arguments: Any, out: Any) -> Any:
        result = original(keys, *arguments, out=out)
        with torch._C.DisableTorchFunction():
            value = None
            if small(out):
                value = _named(name)(*arguments, out=torch.empty(out.shape, dtype=out.dtype, device="cpu"))
            self._twins.write(out, value)
        return result


def _taking_numbers(replacing: Function, name: str) -> Function:
    """Return a function that takes numbers for tensors, as PyTorch's operations do: x + 1. PyTorch's own kernels take
    a tensor that gives the result the same type."""
    places = [i for i, a in enumerate(_arguments_of(name)) if str(a.type) == "Tensor" and not a.kwarg_only]
    return partial(_take_numbers, replacing, places) if len(places) > 1 else replacing


@hidden
def _take_numbers(replacing: Function, places: list[int], keys: Any, *arguments: Any, **named: Any) -> Any:
    if not all(isinstance(arguments[i], torch.Tensor) for i in places):
        like = next(arguments[i] for i in places if isinstance(arguments[i], torch.Tensor))
        arguments = tuple(_tensor(like, a) if i in places else a for i, a in enumerate(arguments))
    return replacing(keys, *arguments, **named)


def _tensor(like: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value
    with torch._C.DisableTorchFunction():
        return torch.tensor(value, device="cpu").to(torch.result_type(like, value))


def repeated(name: str, known: list[Any], named: dict[str, Any], done: Any = None) -> Any:
    """Return what an operation returns on the processor, or `done`; None if it does not do it there."""
    with torch._C.DisableTorchFunction(), ignored(RuntimeError, IndexError):
        result = _named(name)(*known, **named)
        return result if done is None else done
    return None


@touches
def put_all(twins: Twins, results: Any, values: Any) -> None:
    """Note the values of what an operation has returned."""
    if isinstance(results, torch.Tensor):
        results, values = (results,), (values,)
    with torch._C.DisableTorchFunction():
        for x, value in zip(results, values or ()):
            if x is not None and value is not None and small(x) and x.shape == value.shape:
                twins.put(x, value)


def _writes(name: str) -> bool:
    return name.partition(".")[0].endswith("_")


def _is_written(argument: Any) -> bool:
    alias = argument.alias_info
    return argument.name in SILENT or (alias is not None and bool(alias.is_write))


@functools.cache
def _written_by(name: str) -> list[tuple[int, str]]:
    """Return the places and names of the arguments that an operation writes to."""
    return [(i, a.name) for i, a in enumerate(_arguments_of(name)) if _is_written(a)]


def _writers() -> Iterator[str]:
    """Return all operations with a kernel for CUDA that write to what they are given."""
    for full in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
        library, _, name = full.partition("::")
        packet, _, _ = name.partition(".")
        if library != "aten" or name == POWER or packet in KEPT or "backward" in packet:
            continue
        if _written_by(name):
            yield name


def _arguments_of(name: str) -> list[Any]:
    packet, _, overload = name.partition(".")
    arguments: list[Any] = torch._C._get_schema(f"aten::{packet}", overload).arguments
    return arguments


def _named(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _overloads(names: tuple[str, ...]) -> Iterator[str]:
    """Return all overloads of operations and of those that write to their first operand, but those with an output
    argument, which only compiled code calls."""
    for name in names:
        for packet in (name, name + "_"):
            found = getattr(torch.ops.aten, packet, None)
            for overload in found.overloads() if found else ():
                if "out" not in overload and "dimname" not in overload:
                    yield packet if overload == "default" else f"{packet}.{overload}"
