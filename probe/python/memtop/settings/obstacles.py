"""Reasons in a module's type or hooks why its forward must not be replaced or run twice."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import torch

from ..safety.threads import touches
from .replaced_forward import is_replaced

_KINDS = {  # by the name of the module's class or a base class
    "OptimizedModule": "it is compiled, and the compiled code would ignore the change",
    "ScriptModule": "it is compiled by TorchScript, which keeps its own forward",
    "FullyShardedDataParallel": "FSDP gathers its parameters for one forward and frees them after it",
    "FSDPModule": "FSDP gathers its parameters for one forward and frees them after it",
    "DeepSpeedEngine": "DeepSpeed schedules its forward itself",
    "DataParallel": "DataParallel copies it for each step, and the copies would share one forward",
}


@touches
def why_fixed(modules: Iterable[Any]) -> str:
    """Return why the forward of one of these nested modules cannot be replaced, "" if it can."""
    return next((why for module in modules if (why := _why(module))), "")


@touches
def _why(module: Any) -> str:
    for kind in type(module).__mro__:
        if kind.__name__ in _KINDS:
            return _KINDS[kind.__name__]
    if getattr(module, "_compiled_call_impl", None) is not None:
        return _KINDS["OptimizedModule"]
    if getattr(module, "static_graph", False) and type(module).__name__ == "DistributedDataParallel":
        return "DistributedDataParallel has static_graph set"
    return ""


@touches
def why_once(module: Any) -> str:
    """Return why a module's forward must not run twice, as far as can be seen without running it, "" if it may."""
    if is_replaced(module):
        return "the program has replaced its forward"
    if torch.nn.modules.module._global_forward_hooks and _hooks_of_others():
        return "the program has hooks on all modules, which would run twice"
    for part in module.modules():
        if isinstance(part, torch.nn.SyncBatchNorm):
            return "its SyncBatchNorm communicates with the other ranks, which do not recompute it"
        if part is not module and (part._forward_hooks or part._forward_pre_hooks or part._backward_hooks):
            return f"its {type(part).__name__} has hooks, which would run twice"
        for compiled in ("OptimizedModule", "ScriptModule"):
            if any(kind.__name__ == compiled for kind in type(part).__mro__):
                return f"its {type(part).__name__} is compiled"
    return ""


def _hooks_of_others() -> bool:
    """Report whether there are hooks on all modules besides the agent's."""
    hooks = torch.nn.modules.module
    every = [*hooks._global_forward_hooks.values(), *hooks._global_forward_pre_hooks.values()]
    own = sys.modules[__name__].__name__.partition(".")[0]
    return any(not (getattr(hook, "__module__", None) or "").startswith(f"{own}.") for hook in every)
