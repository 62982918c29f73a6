"""How a job under test says where it is, and does what the test orders.

The orders are lines: "stand" and wait for more, "go" on, make "steps N" and stand again, "exhaust" a device's memory,
"end". When the test is gone, the job ends.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterable, Iterator
from typing import Any

import torch

RANK = int(os.environ.get("RANK", "0"))
_orders = os.open(os.path.join(os.environ["IMITATED_FOLDER"], f"orders.{RANK}"), os.O_RDONLY)
_rest = b""


def say(moment: str, **numbers: Any) -> None:
    """Tell the test where the job is, in one write, so that the lines of ranks do not mix."""
    line = json.dumps({"moment": moment, "rank": RANK, "pid": os.getpid(), **numbers})
    os.write(1, f"{line}\n".encode())


def order(wait: bool) -> str:
    """Return the next order, "" if there is none and the job need not wait."""
    global _rest
    while b"\n" not in _rest:
        if not wait and not select.select([_orders], [], [], 0)[0]:
            return ""
        read = os.read(_orders, 4096)
        if not read:
            return "end"
        _rest += read
    line, _, _rest = _rest.partition(b"\n")
    return line.decode()


def halt(moment: str) -> None:
    """Stand still, in the midst of something, until the test orders to go on."""
    say(moment, **allocator())
    order(wait=True)


def steps(*counts: Any) -> Iterator[int]:
    """Yield the numbers of steps until the test orders the end; the first comes when the test orders it. At each halt,
    say what the functions in `counts` return."""
    step, left, now = 0, 0, order(wait=True)

    def numbers() -> dict[str, Any]:
        found: dict[str, Any] = {"step": step, **allocator()}
        for count in counts:
            found.update(count())
        return found

    while now != "end":
        if now.startswith("steps "):
            left = int(now.split()[1])
        step += 1
        yield step
        left -= 1
        now = "stand" if left == 0 else order(wait=False)
        while now in ("stand", "exhaust"):
            if now == "exhaust":
                exhaust()
            else:
                say("stands", **numbers())
            now = order(wait=True)
    say("ends", **numbers())


def exhaust() -> None:
    """Ask for more memory than the device has, and stand still without it."""
    before = allocator()
    asked = torch.cuda.get_device_properties("cuda").total_memory + (2 << 20)
    try:
        torch.empty(asked, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        say("exhausted", asked=asked, text=str(error), **before)


def allocator() -> dict[str, Any]:
    """Return PyTorch's counters of each device that the job uses, the highest since the last halt among them."""
    if not torch.cuda.is_initialized() or torch.cuda.get_allocator_backend() != "native":
        return {}
    devices = {}
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats(device)
        if stats.get("reserved_bytes.all.peak", 0):
            devices[str(device)] = {
                "allocated_bytes": torch.cuda.memory_allocated(device),
                "reserved_bytes": torch.cuda.memory_reserved(device),
                "active_bytes": stats["active_bytes.all.current"],
                "requested_bytes": stats["requested_bytes.all.current"],
                "peak_bytes": stats["allocated_bytes.all.peak"],
                "allocations": stats["allocation.all.allocated"],
                "segments": stats["segment.all.current"],
                "out_of_memory": stats["num_ooms"],
            }
    return {"devices": devices, "recording": bool(torch._C._cuda_isHistoryEnabled()), "hooks": hooks()}


def hooks() -> int:
    """Return how many hooks on all modules there are."""
    module = torch.nn.modules.module
    return len(module._global_forward_pre_hooks) + len(module._global_forward_hooks)


def held(model: Any, optimizer: Any) -> Any:
    """Return a function that counts what a model and its optimizer hold on devices, in bytes."""

    def count() -> dict[str, Any]:
        parameters = list(model.parameters())
        state = [value for values in optimizer.state.values() for value in values.values()]
        return {
            "parameter": size(parameters),
            "gradient": size(p.grad for p in parameters if p.grad is not None),
            "optimizer": size(value for value in state if isinstance(value, torch.Tensor)),
        }

    return count


def size(tensors: Iterable[Any]) -> int:
    """Return the bytes of the storages on devices, each counted once; of sharded tensors, of this rank's part."""
    local = [tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in tensors]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in local if t.is_cuda}
    return sum(storages.values())
