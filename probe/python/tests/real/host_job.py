"""A training that keeps memory of the host in one way: `python host_job.py WAY STEPS DEVICE`.

Each step takes a tenth of a second, as real ones do, and says its number. It keeps a MiB, in blocks that no allocator
rounds up.
"""

import ctypes
import mmap
import multiprocessing
import os
import signal
import sys
import time

import torch
from torch import nn

WAY, STEPS, DEVICE = sys.argv[1], int(sys.argv[2]), sys.argv[3]
SIZE, LARGE = 1 << 20, 64 << 20
SMALL = 256 - sys.getsizeof(b"")  # bytes in an object of 256, of which Python's allocator wastes nothing
C = ctypes.CDLL(None)
C.malloc.restype, C.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]


class Data(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.read: list[bytearray] = []
        self.table = bytearray(b"x") * (LARGE if WAY == "copied" else 1)

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if WAY == "copied":
            self.table[::4096] = b"y" * len(self.table[::4096])
        if WAY == "worker":
            self.read.append(bytearray(os.urandom(64)) * (SIZE // 64 // 8))
        return torch.ones(SIZE // 4 // 8 if WAY == "references" else 256), index % 10


def leave() -> None:
    """Share memory by name, as libraries do, and be killed before it is deleted."""
    with open(f"/dev/shm/left-{os.getpid()}-of-{os.getppid()}", "w+b") as file:
        file.truncate(SIZE)
        mmap.mmap(file.fileno(), SIZE).write(b"x" * SIZE)
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    workers = 2 if WAY in ("worker", "references", "copied") else 0
    loader = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=workers)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    cache: dict[int, object] = {}
    kept: list[object] = []
    pinned: list[object] = []
    if WAY == "untouched":
        with open(f"/dev/shm/untouched-{os.getpid()}", "w+b") as file:
            file.write(b"x" * LARGE)
            kept.append(mmap.mmap(file.fileno(), LARGE))
    for step, (x, y) in enumerate(loader):
        if step == STEPS:
            return
        loss = nn.functional.cross_entropy(model(x[:, :256].to(DEVICE)), y.to(DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if WAY == "batches":
            kept.append(torch.ones(SIZE // 4))
        elif WAY == "references":
            kept.append(x)
        elif WAY == "native":
            ctypes.memset(C.malloc(SIZE), 1, SIZE)
        elif WAY == "dict":
            cache[step] = [bytes(SMALL) for _ in range(SIZE // 256)]
        elif WAY == "strings":
            cache[step] = "x" * SIZE
        elif WAY in ("shared", "private"):
            kind = mmap.MAP_SHARED if WAY == "shared" else mmap.MAP_PRIVATE
            kept.append(mmap.mmap(-1, SIZE, flags=kind | mmap.MAP_ANONYMOUS))
            kept[-1].write(b"x" * SIZE)  # type: ignore[attr-defined]
        elif WAY == "pinned":
            pinned.append(torch.ones(SIZE // 4).pin_memory())
        elif WAY == "left":
            child = multiprocessing.get_context("fork").Process(target=leave)
            child.start()
            child.join()
        time.sleep(0.1)
        print(step, flush=True)


main()
