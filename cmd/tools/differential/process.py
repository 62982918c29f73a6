"""Runs programs of requests on PyTorch's own allocator, and says what it did.

It reads a program from standard input, a line for each operation and the line
"." at its end, and writes the pools that it made and the events of the allocator in the same way. Where an
assertion of PyTorch's fails, or it refuses a pool, it ends after a line "!" instead. The first
lines that it writes are the version, the device's free bytes and the streams.
"""

import ctypes
import gc
import sys
import warnings

import torch
from torch.cuda import memory


def events() -> list[str]:
    """What the allocator did since the history was cleared: action, address, size, stream, free bytes."""
    trace = memory._snapshot()["device_traces"][0]
    lines = []
    for e in trace:
        if e["action"] != "snapshot":
            addr = e["device_free"] if e["action"] == "oom" else e["addr"]
            lines.append(f"{e['action']} {addr} {e['size']} {e['stream']}")
    return lines


class Made:
    """A pool that the program makes."""

    def __init__(self, number: int) -> None:
        wanted = {"use_on_oom": number // 2 % 4 == 1, "no_split": number // 2 % 4 == 2}
        known = torch.cuda.MemPool.__init__.__code__.co_varnames
        options = {name: value for name, value in wanted.items() if name in known}
        self.pool = torch.cuda.MemPool(**options)
        self.said = (*self.pool.id, *(options.get(name, False) for name in wanted))

    def begin(self) -> None:
        self.using = torch.cuda.use_mem_pool(self.pool)
        self.using.__enter__()

    def end(self) -> None:
        self.using.__exit__(None, None, None)

    def drop(self) -> None:
        self.pool = self.using = None


class Graphs:
    """A pool of graphs, of which each use captures one. Older releases allocate for a graph, so they only divert."""

    def __init__(self) -> None:
        self.handle = torch.cuda.graph_pool_handle()
        number = max(self.handle)  # the order of pools knows no other part of a handle
        self.said = (number, 0, False, False) if CAPTURES else (0, number, False, False)
        self.graphs: list[torch.cuda.CUDAGraph] = []
        self.uses = 0

    def begin(self) -> None:
        self.uses += 1
        if not CAPTURES:
            torch._C._cuda_beginAllocateToPool(0, self.handle)
            return
        self.graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.stream(SIDE[0]):
            self.graphs[-1].capture_begin(pool=self.handle)

    def end(self) -> None:
        if not CAPTURES:
            END(0, self.handle)
            return
        with torch.cuda.stream(SIDE[0]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the graph is empty
            self.graphs[-1].capture_end()

    def drop(self) -> None:
        self.graphs.clear()
        for _ in range(0 if CAPTURES else self.uses):
            torch._C._cuda_releasePool(0, self.handle)


CAPTURES = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 14)
END = getattr(torch._C, "_cuda_endAllocateToPool", None) or torch._C._cuda_endAllocateCurrentStreamToPool
SIDE: list[torch.cuda.Stream] = []


class Program:
    """One program, from an empty allocator to an empty one."""

    def __init__(self, streams: list[torch.cuda.Stream]) -> None:
        self.streams = streams
        self.blocks: dict[int, torch.Tensor] = {}
        self.pools: dict[int, Made | Graphs] = {}
        self.said: list[str] = []

    def do(self, kind: str, words: list[str]) -> None:
        if kind == "e":
            torch.cuda.empty_cache()
            return
        number = int(words[0])
        if kind == "a":
            self.request(number, self.streams[int(words[1])], int(words[2]))
        elif kind == "f":
            self.blocks.pop(number, None)
        elif kind == "r":
            if number in self.blocks:
                self.blocks[number].record_stream(self.streams[int(words[1])])
        elif kind == "b":
            if number not in self.pools:
                self.pools[number] = Graphs() if number % 2 else Made(number)
                self.said.append(f"pool {number} {' '.join(map(str, self.pools[number].said)).lower()}")
            self.pools[number].begin()
        elif kind == "x":
            self.pools[number].end()
        elif kind == "d":
            self.pools.pop(number).drop()

    def request(self, number: int, stream: torch.cuda.Stream, size: int) -> None:
        with torch.cuda.stream(stream):
            try:
                self.blocks[number] = torch.empty(size, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError:
                pass


def main() -> None:
    torch.cuda.init()
    SIDE.extend(sorted((torch.cuda.Stream() for _ in range(2)), key=lambda stream: stream.cuda_stream))
    streams = [torch.cuda.default_stream(), *SIDE]
    torch.empty(1, device="cuda")
    torch.cuda.empty_cache()
    print(torch.__version__)
    print(*torch.cuda.mem_get_info())
    print(*(stream.cuda_stream for stream in streams), flush=True)
    gc.disable()
    program = Program(streams)
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "p":
            torch.cuda.set_per_process_memory_fraction(float(words[0]))
            ctypes.CDLL(None).memtop_imitation_late(int(words[1]))
            memory._record_memory_history("all", context=None, max_entries=1 << 20)
            program = Program(streams)
        elif kind == ".":
            print(*program.said, *events(), ".", sep="\n", flush=True)
            memory._record_memory_history(None)
            if torch.cuda.memory_reserved():
                raise SystemExit(f"{torch.cuda.memory_reserved()} bytes are left of a program")
        else:
            try:
                program.do(kind, words)
            except RuntimeError as e:
                if "INTERNAL ASSERT" not in str(e) and "MemPool doesn't currently support" not in str(e):
                    raise
                print(*program.said, *events(), "!", sep="\n", flush=True)
                return


main()
