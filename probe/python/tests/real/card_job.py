"""A training that takes memory of the device beside PyTorch's allocator: `python card_job.py WAY FOLDER DEVICE`.

It prints a line once it has what it takes, and another for each step. FOLDER has the libraries that a test has
compiled.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
import types

import torch
from torch import nn

WAY, FOLDER, DEVICE = sys.argv[1], sys.argv[2], sys.argv[3]
MIB = 1 << 20


def libraries() -> dict[str, int]:
    """Two libraries take memory of the driver in different ways; one gives some of it back."""
    first, second = (ctypes.CDLL(f"{FOLDER}/lib{name}.so") for name in ("first", "second"))
    address, kept = ctypes.c_size_t(), ctypes.c_size_t()
    first.taker_take(0, ctypes.byref(address), ctypes.c_size_t(40 * MIB))
    first.taker_take(1, ctypes.byref(kept), ctypes.c_size_t(7 * MIB + 12345))
    second.taker_take(3, ctypes.byref(kept), ctypes.c_size_t(24 * MIB))
    second.taker_give(0, address, 0)
    return {"libfirst.so": 7 * MIB + 12345, "libsecond.so": 24 * MIB}


def communicate() -> dict[str, int]:
    """This rank of 64 communicates with all, and with seven others."""
    import torch.distributed as dist

    dist.init_process_group("nccl", rank=0, world_size=64, store=dist.HashStore())
    before = torch.cuda.mem_get_info()[0]
    part, unused = dist.new_group(list(range(8))), dist.new_group([0, 1])
    numbers = torch.ones(8, device=DEVICE)
    dist.all_reduce(numbers)
    dist.all_reduce(numbers, group=part)
    torch.cuda.synchronize()
    assert unused is not None
    return {"nccl": before - torch.cuda.mem_get_info()[0]}


class Record:
    def __init__(self, handle: tuple[int, int, int, int], tag: str) -> None:
        self.handle, self.tag = handle, tag


class Allocator:
    """Keeps the records that vLLM's allocator keeps, under the same names. It is not vLLM's."""

    instance: Allocator | None = None

    def __init__(self) -> None:
        self.pointer_to_data: dict[int, Record] = {}
        self.tag = ""
        self.library = ctypes.CDLL(f"{FOLDER}/libpooled.so")
        self.library.pooled_wake.restype = ctypes.c_size_t
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
        self.listener = kind(self.note)
        self.library.pooled_tell(self.listener)
        self.allocator = torch.cuda.memory.CUDAPluggableAllocator(
            f"{FOLDER}/libpooled.so", "pooled_malloc", "pooled_free"
        )
        self.pools: list[object] = []

    def note(self, device: int, size: int, address: int, handle: int) -> None:
        self.pointer_to_data[address] = Record((device, size, address, handle), self.tag)

    def take(self, tag: str, *sizes: int) -> list[torch.Tensor]:
        self.tag = tag
        self.pools.append(pool := torch.cuda.memory.MemPool(self.allocator._allocator))
        with torch.cuda.memory.use_mem_pool(pool):  # type: ignore[arg-type]
            return [torch.empty(size, dtype=torch.uint8, device=DEVICE) for size in sizes]

    def sleep(self, tag: str) -> None:
        for address, record in self.pointer_to_data.items():
            if record.tag == tag:
                _, size, _, handle = record.handle
                self.library.pooled_sleep(ctypes.c_size_t(address), ctypes.c_size_t(size), ctypes.c_size_t(handle))


def serve() -> tuple[dict[str, int], list[torch.Tensor]]:
    """Take weights and a cache, and let the cache sleep."""
    module = types.ModuleType("vllm.device_allocator.cumem")
    module.CuMemAllocator = Allocator  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    Allocator.instance = allocator = Allocator()
    kept = [*allocator.take("weights", 64 * MIB, 30 * MIB), *allocator.take("kv_cache", 200 * MIB)]
    sizes = {"weights": 0, "kv_cache": 0}
    for record in allocator.pointer_to_data.values():
        sizes[record.tag] += record.handle[1]
    if WAY == "asleep":
        allocator.sleep("kv_cache")
    return sizes, kept


def main() -> None:
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    kept: list[torch.Tensor] = []
    if WAY in ("server", "asleep"):
        took, kept = serve()
    else:
        took = {"libraries": libraries, "nccl": communicate, "none": dict}[WAY]()
    step = 0
    while True:
        model(torch.randn(64, 256, device=DEVICE)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 0:
            left, total = torch.cuda.mem_get_info()
            print(
                json.dumps({"took": took, "used": total - left, "reserved": torch.cuda.memory_reserved()}), flush=True
            )
        step += 1
        time.sleep(0.05)
    assert kept


main()
