"""Runs programs of requests on PyTorch's own allocator, and says what it did.

It reads a program from standard input, a line for each operation and the line
"." at its end, and writes the events of the allocator in the same way. The first
lines that it writes are the version, the device's free bytes and the streams.
"""

import gc
import sys

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


class Program:
    """One program, from an empty allocator to an empty one."""

    def __init__(self, streams: list[torch.cuda.Stream]) -> None:
        self.streams = streams
        self.blocks: dict[int, torch.Tensor] = {}
        self.pools: dict[int, torch.cuda.MemPool] = {}
        self.using = None

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
                self.pools[number] = torch.cuda.MemPool()
            self.using = torch.cuda.use_mem_pool(self.pools[number])
            self.using.__enter__()
        elif kind == "x":
            self.using.__exit__(None, None, None)
            self.using = None
        elif kind == "d":
            del self.pools[number]

    def request(self, number: int, stream: torch.cuda.Stream, size: int) -> None:
        with torch.cuda.stream(stream):
            try:
                self.blocks[number] = torch.empty(size, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError:
                pass


def main() -> None:
    torch.cuda.init()
    side = sorted((torch.cuda.Stream() for _ in range(2)), key=lambda stream: stream.cuda_stream)
    streams = [torch.cuda.default_stream(), *side]
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
            memory._record_memory_history("all", context=None, max_entries=1 << 20)
            program = Program(streams)
        elif kind == ".":
            print(*events(), ".", sep="\n", flush=True)
            memory._record_memory_history(None)
            if torch.cuda.memory_reserved():
                raise SystemExit(f"{torch.cuda.memory_reserved()} bytes are left of a program")
        else:
            program.do(kind, words)


main()
