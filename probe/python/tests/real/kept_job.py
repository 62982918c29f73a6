"""A job that keeps memory, and counts it itself: python kept_job.py KIND DEVICE. It reads numbers of steps from its
standard input, makes so many, and prints what it then keeps, and the line that keeps it, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

KIND, DEVICE = sys.argv[1:3]
KINDS = ("losses", "total", "exception", "cache", "hook", "closure", "seventh", "context")
SIZE = 4096  # values of what is kept as it is
MODEL = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)).to(DEVICE)
OPTIMIZER = torch.optim.AdamW(MODEL.parameters())

history: list[Any] = []
errors: list[Any] = []
seen: list[Any] = []
calls: list[Any] = []
now_and_then: list[Any] = []
contexts: list[Any] = []
cache: dict[int, Any] = {}


class Doubled(torch.autograd.Function):
    """Its context outlives its result: C++ keeps what it saved."""

    @staticmethod
    def forward(context: Any, value: Any) -> Any:
        context.save_for_backward(value)
        contexts.append(context)  # context
        return value * 2

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return gradient * 2


def watched(module: Any, arguments: Any, output: Any) -> None:
    seen.append(output.detach())  # hook


def closing(value: Any) -> Any:
    return lambda: value


def failing(value: Any) -> None:
    scratch = value * 2
    raise ValueError(f"a mistake with {len(scratch)} rows")


def try_it(value: Any) -> None:
    try:
        failing(value)
    except ValueError as error:
        errors.append(error)  # exception


def batch() -> Any:
    return torch.randn(64, 64, device=DEVICE)


def loss_of(x: Any) -> Any:
    return nn.functional.mse_loss(MODEL(x), x)


def graph_bytes() -> int:
    """Return the bytes that one loss keeps with its graph, counted when they are saved. A total takes the loss's place,
    and keeps the rest."""
    saved: list[Any] = []

    def pack(tensor: Any) -> Any:
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = loss_of(batch())
    kept = saved if KIND == "total" else [*saved, loss]
    own = {p.untyped_storage().data_ptr() for p in MODEL.parameters()}
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}
    return sum(size for address, size in storages.items() if address not in own)


def train() -> None:
    total: Any = 0
    steps = 0
    for line in sys.stdin:
        for _ in range(int(line)):
            steps += 1
            x = batch()
            if KIND == "losses":
                history.append(loss_of(x))  # losses
            elif KIND == "total":
                total = total + loss_of(x)  # total
            elif KIND == "exception":
                try_it(batch())
            elif KIND == "cache":
                cache[steps] = torch.ones(SIZE, device=DEVICE)  # cache
            elif KIND == "closure":
                calls.append(closing(torch.ones(SIZE, device=DEVICE)))  # closure
            elif KIND == "seventh" and steps % 7 == 0:
                now_and_then.append(torch.ones(SIZE, device=DEVICE))  # seventh
            elif KIND == "context":
                Doubled.apply(MODEL[0](x))
            loss_of(x).backward()
            OPTIMIZER.step()
            OPTIMIZER.zero_grad(set_to_none=True)
        print(json.dumps({"step": steps, "kept": kept(steps), "line": line_of(KIND)}), flush=True)


def kept(steps: int) -> int:
    """Return the bytes that the job keeps on purpose."""
    values = {"exception": 64 * 64 * 4 * 2, "hook": 64 * 256 * 4, "context": 64 * (256 + 64) * 4}.get(KIND, SIZE * 4)
    count = {"seventh": steps // 7}.get(KIND, steps)
    return count * (GRAPH if KIND in ("losses", "total") else values)


def line_of(kind: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"  # {kind}"))


GRAPH = graph_bytes()
if KIND == "hook":
    MODEL[0].register_forward_hook(watched)
train()
