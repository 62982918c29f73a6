"""Parameters that are divided over ranks, as FSDP2 does it: each rank holds a part of each parameter, and the ranks
gather all parts of a block for its forward and again for its backward.

A gathered parameter is memory of its own. PyTorch keeps its storage and takes its bytes away, so no
storage ends. So while a step is measured, the agent replaces two methods of PyTorch's class for such
parameters. The class is private: if this version of PyTorch has another one, nothing is seen of it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

from ..memory.registry import COMMUNICATION, GATHERED, Registry, storage_of
from ..safety.guard import Guard
from ..safety.inspection import fields_of
from ..safety.threads import touches

MODULES = ("torch.distributed.fsdp._fully_shard._fsdp_param", "torch.distributed._composable.fsdp._fsdp_param")
GATHER, FREE = "to_unsharded", "free_unsharded_param"


@touches
class Sharded:
    """Shows the registry what is gathered, and what is freed of it. `on` and `off` belong to the training thread."""

    def __init__(self, registry: Registry, guard: Guard) -> None:
        self._registry = registry
        self._gathered = guard(self._gather)
        self._freed = guard(self._free)
        self._replaced: list[tuple[type, str, Any, Any]] = []  # the class, the method's name, PyTorch's and ours

    def on(self) -> None:
        """Replace the methods, if the program uses such parameters."""
        kind = next((kind for name in MODULES if (kind := _class_in(name)) is not None), None)
        if kind is None or self._replaced:
            return
        for name, after in ((GATHER, self._gathered), (FREE, self._freed)):
            original = vars(kind)[name]
            replacement = _followed(original, after)
            self._replaced.append((kind, name, original, replacement))
            setattr(kind, name, replacement)

    def off(self) -> None:
        """Put PyTorch's methods back, unless the program has replaced ours meanwhile."""
        while self._replaced:
            kind, name, original, replacement = self._replaced.pop()
            if vars(kind).get(name) is replacement:
                setattr(kind, name, original)

    def _gather(self, parameter: Any) -> None:
        for name, tensor in _parts_of(parameter):
            self._registry.see(tensor, GATHERED, role=name, stack=0)

    def _free(self, parameter: Any) -> None:
        self._registry.settle_gathered()


@touches
def gathered_in(module: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the parameters of a module that are gathered now, with category and name: those of FSDP2, and the flat
    one of FSDP1."""
    for group in _groups_of(module):
        for parameter in getattr(group, "fsdp_params", ()):
            yield from ((GATHERED, name, tensor) for name, tensor in _parts_of(parameter))
    flat = getattr(fields_of(module).get("_handle"), "flat_param", None)
    for name in ("_full_param_padded", "_full_prec_full_param_padded"):
        if (tensor := getattr(flat, name, None)) is not None and storage_of(tensor)[1]:
            yield GATHERED, "flat parameter", tensor


@touches
def exchanged_by(module: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield what FSDP2 has sent or received for a module and still holds."""
    for group in _groups_of(module):
        context = getattr(group, "comm_ctx", None)
        state = getattr(context, "all_gather_state", None)
        states = getattr(context, "reduce_scatter_states", None) or [getattr(context, "reduce_scatter_state", None)]
        results = (getattr(group, "_all_gather_result", None), getattr(state, "all_gather_result", None))
        for name, holders in (("all_gather_output", results), ("reduce_scatter_input", states)):
            for tensor in (getattr(holder, name, None) for holder in holders):
                if tensor is not None:
                    yield COMMUNICATION, name, tensor


@touches
def _groups_of(module: Any) -> list[Any]:
    state = module._get_fsdp_state() if hasattr(type(module), "_get_fsdp_state") else None
    return getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]  # a single one


@touches
def _parts_of(parameter: Any) -> Iterator[tuple[str, Any]]:
    name = getattr(parameter, "_param_fqn", None) or "gathered"
    for tensor in (*getattr(parameter, "all_gather_outputs", ()), getattr(parameter, "_unsharded_param", None)):
        if tensor is not None and storage_of(tensor)[1]:
            yield name, tensor


def _class_in(name: str) -> Any:
    """Return the class, None if the program has not imported it or it has no such methods."""
    kind = getattr(sys.modules.get(name), "FSDPParam", None)
    return kind if kind is not None and GATHER in vars(kind) and FREE in vars(kind) else None


def _followed(original: Any, after: Any) -> Any:
    @functools.wraps(original)
    def method(parameter: Any, *arguments: Any, **named: Any) -> Any:
        result = original(parameter, *arguments, **named)
        after(parameter)
        return result

    return method
