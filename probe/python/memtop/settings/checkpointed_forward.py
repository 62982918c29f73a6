"""A replacement for a block's forward that checkpoints it: only its inputs are kept, and the backward recomputes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.nn.modules.batchnorm import _NormBase
from torch.utils.checkpoint import checkpoint

from ..hooks.layers import Layers
from ..safety.threads import called_by_pytorch, touches
from .replaced_forward import ReplacedForward


class CheckpointedForward(ReplacedForward):
    """Checkpoints a block in training with PyTorch's `checkpoint`, which restores the random state for the second
    run."""

    def __init__(self, module: Any, layers: Layers) -> None:
        super().__init__(module)
        self._layers = layers

    @called_by_pytorch
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute the forward so that the backward pass can compute it again."""
        if not self.module.training or not torch.is_grad_enabled():
            return super().__call__(*arguments, **named)
        self.ran = True
        return checkpoint(partial(self._run, **named), *arguments, use_reentrant=False, preserve_rng_state=True)

    @called_by_pytorch
    def _run(self, *arguments: Any, **named: Any) -> Any:
        module = self.module
        if torch._C._current_graph_task_id() == -1:
            return self._plain(module, *arguments, **named)
        with self._layers.again(module), kept(module):
            return self._plain(module, *arguments, **named)


@touches
@contextmanager
def kept(module: Any) -> Iterator[None]:
    """Protect a module's running statistics from a second forward, which would update them again.

    Copies take their place meanwhile. In training their values do not affect the result.
    """
    norms = [part for part in module.modules() if isinstance(part, _NormBase) and part.track_running_stats]
    buffers = [(norm, dict(norm._buffers)) for norm in norms]
    try:
        for norm, own in buffers:
            norm._buffers.update({name: None if buffer is None else buffer.clone() for name, buffer in own.items()})
        yield
    finally:
        for norm, own in buffers:
            norm._buffers.update(own)
