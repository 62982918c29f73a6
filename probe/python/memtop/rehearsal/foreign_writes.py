"""Twins end where others write than PyTorch's own operations: kernels of Triton, of compiled code and of others, and
processes that share a storage."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from ..safety.threads import called_by_pytorch
from ..start.importing import when_imported
from .twins import Twins

TRITON = "triton.runtime.jit"
COMPILED = "torch._inductor.runtime.triton_heuristics"
READ = "in_ptr"  # the names of what kernels of compiled code only read begin so


def begin(twins: Twins) -> None:
    """Wrap what launches such kernels, and what says of an operation that is not PyTorch's what it has written."""
    _end_shared(twins)
    _end_with(twins, torch.autograd.graph, "increment_version", lambda _: ())
    when_imported(TRITON, lambda: _end_with(twins, sys.modules[TRITON].JITFunction, "run", lambda _: ()))
    when_imported(
        COMPILED, lambda: _end_with(twins, sys.modules[COMPILED].CachingAutotuner, "run", lambda it: it.fn.arg_names)
    )


def _end_shared(twins: Twins) -> None:
    """Other processes may write at any time to a storage that is shared with them."""
    storage: Any = torch.UntypedStorage
    shares, opens = storage._share_cuda_, storage._new_shared_cuda

    def share(self: Any, *arguments: Any) -> Any:
        twins.share(self)
        return shares(self, *arguments)

    def opened(*arguments: Any) -> Any:
        found = opens(*arguments)
        twins.share(found)
        return found

    storage._share_cuda_, storage._new_shared_cuda = share, staticmethod(opened)


def _end_with(twins: Twins, owner: Any, name: str, names_of: Any) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    @called_by_pytorch
    def call(*arguments: Any, **named: Any) -> Any:
        names = dict(enumerate(names_of(arguments[0]), start=1))
        twins.forget([x for at, x in enumerate(arguments) if not names.get(at, "").startswith(READ)])
        twins.forget(list(named.values()))
        return original(*arguments, **named)

    setattr(owner, name, call)
