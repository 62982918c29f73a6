"""Training steps on a processor, in memtrain and in PyTorch, in turn:

    python peers.py MEMTRAIN [--rounds N] [--steps N] [--only NAME]

The same models, sizes, batches, optimizer and clipping; tokens and pictures are
random there and memtrain's own here, which cost the same. Each round starts both
programs one after the other, on all cores; the table has the shortest step of all
rounds, which is nearest to a machine of one's own, and the most memory that the
process ever had resident. `make bench-peers` runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

WARM = 3


def gpt(layers: int, dim: int, heads: int, length: int, batch: int, vocabulary: int, amp: str = "off") -> dict[str, object]:
    sizes = {"layers": layers, "dim": dim, "heads": heads, "seq": length, "batch": batch, "vocab": vocabulary}
    return {"model": "gpt", "amp": amp, **sizes}


def conv(layers: int, dim: int, batch: int = 32) -> dict[str, object]:
    return {"model": "conv", "amp": "off", "layers": layers, "dim": dim, "batch": batch}


JOBS = {
    "GPT-2 124M, float32": gpt(12, 768, 12, 64, 4, 50257),
    "GPT-2 124M, bf16": gpt(12, 768, 12, 64, 4, 50257, "bf16"),
    "GPT 6x128": gpt(6, 128, 4, 128, 8, 256),
    "CNN 3x16": conv(3, 16),
    "CNN 4x64": conv(4, 64),
}


def memtrain_steps(memtrain: str, job: dict[str, object], steps: int) -> tuple[list[float], int]:
    """Return the seconds of each step and the most bytes that were resident."""
    flags = [word for name, value in job.items() for word in ("--" + name, str(value))]
    command = [memtrain, *flags, "--device", "cpu:0", "--device-memory", "8GiB", "--probe", "off", "--json"]
    return run([*command, "--steps", str(WARM + steps)], lambda line: json.loads(line)["step_time_ns"] / 1e9)


def torch_steps(job: dict[str, object], steps: int) -> tuple[list[float], int]:
    """Return the same of this file as a PyTorch program."""
    return run([sys.executable, __file__, "--job", json.dumps(job), "--steps", str(steps)], float)


def run(command: list[str], seconds_of) -> tuple[list[float], int]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    times = [seconds_of(line) for line in process.stdout]
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} failed: {status}")
    return times[WARM:], usage.ru_maxrss * 1024


def compare(memtrain: str, name: str, rounds: int, steps: int) -> None:
    job, ours, theirs = JOBS[name], [], []
    for number in range(rounds):
        for turn in ((0, 1), (1, 0))[number % 2]:
            (ours if turn == 0 else theirs).append(memtrain_steps(memtrain, job, steps) if turn == 0 else torch_steps(job, steps))
    best = [min(min(times) for times, _ in list) for list in (ours, theirs)]
    resident = [max(size for _, size in list) / 2**20 for list in (ours, theirs)]
    print(
        f"| {name} | {best[0] * 1000:.1f} ms | {best[1] * 1000:.1f} ms | {best[0] / best[1]:.2f} "
        f"| {resident[0]:.0f} MiB | {resident[1]:.0f} MiB | {resident[0] / resident[1]:.2f} |",
        flush=True,
    )


def train_in_torch(job: dict, steps: int) -> None:
    """Be the PyTorch program: print the seconds of each step."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            split = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
            q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(F.gelu(self.up(self.before_mlp(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width = job["dim"]
            self.token, self.place = nn.Embedding(job["vocab"], width), nn.Embedding(job["seq"], width)
            self.blocks = nn.Sequential(*(Block(width, job["heads"]) for _ in range(job["layers"])))
            self.last, self.head = nn.LayerNorm(width), nn.Linear(width, job["vocab"], bias=False)
            self.head.weight = self.token.weight
            for p in self.parameters():
                if p.dim() > 1:
                    nn.init.normal_(p, std=0.02)

        def forward(self, ids):
            x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
            return self.head(self.last(self.blocks(x)))

    def convolutions() -> nn.Module:
        layers, channels, width = [], 3, job["dim"]
        for _ in range(job["layers"]):
            layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.ReLU()]
            channels, width = width, 2 * width
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))

    torch.manual_seed(1)
    is_gpt = job["model"] == "gpt"
    model = GPT() if is_gpt else convolutions()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(WARM + steps):
        if is_gpt:
            inputs, targets = torch.randint(job["vocab"], (2, job["batch"], job["seq"]))
        else:
            inputs, targets = torch.randn(job["batch"], 3, 32, 32), torch.randint(10, (job["batch"],))
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=job["amp"] == "bf16"):
            loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(time.perf_counter() - start, flush=True)


def main() -> None:
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("memtrain", nargs="?")
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--steps", type=int, default=10)
    flags.add_argument("--only", default="", help="part of a job's name")
    flags.add_argument("--job", help=argparse.SUPPRESS)
    options = flags.parse_args()
    if options.job:
        train_in_torch(json.loads(options.job), options.steps)
        return
    print("| job | memtrain | PyTorch | ratio | resident | PyTorch's | ratio |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in JOBS:
        if options.only in name:
            compare(options.memtrain, name, options.rounds, options.steps)


if __name__ == "__main__":
    main()
