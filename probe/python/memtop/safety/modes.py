"""What the agent does in the program's threads, neither the program's modes nor its kinds of tensors see.

PyTorch reports nearly every touch of a tensor, even of its shape, to the function modes that are on and to the
tensor's own class. It reports what is computed to the dispatch modes, so the agent computes nothing.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from .compiled import untraced
from .threads import called_by_pytorch

_Unseen: Any = torch._C.DisableTorchFunction
_TRACING = torch._C._TorchDispatchModeKey.FAKE, torch._C._TorchDispatchModeKey.PROXY


def unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that PyTorch calls, and that runs no code of the program: no touch in it is reported."""
    function = called_by_pytorch(function)

    @functools.wraps(function)
    def below(*arguments: Any, **named: Any) -> Any:
        with _Unseen():
            return function(*arguments, **named)

    return untraced(below)


def is_traced() -> bool:
    """Report whether PyTorch writes down what this thread computes, and each size that it reads, to make a graph of it:
    `torch.jit.trace`, `torch.export`, tensors without values."""
    if torch._C._is_tracing() or torch._C._len_torch_dispatch_stack() == 0:
        return bool(torch._C._is_tracing())
    return any(torch._C._get_dispatch_mode(kind) is not None for kind in _TRACING)
