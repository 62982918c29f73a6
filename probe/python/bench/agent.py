"""What the agent costs a job, by interleaved pairs: alone, with nobody attached, and attached at 10 Hz.

    python bench/agent.py MEMTOP [--pairs N] [--steps N] [--soak MINUTES]

Each round runs all three ways of each job one after the other, in an order that
rotates, so that what else the machine does falls on all of them. The table has the
median of each round's ratio to the job alone, with the interval in which the true
median lies with 95 % (by order statistics, of any distribution). A soak runs one
job for a time while it is attached, and prints its memory by minute.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOBS = {
    "GPT": """
import train
model = train.GPT(vocabulary=1024, length=128, layers=6, width=192, heads=6)
def forward():
    tokens = torch.randint(1024, (8, 129))
    return model(tokens[:, :-1], tokens[:, 1:])[1]
""",
    "ResNet": """
import torchvision
model = torchvision.models.resnet18(num_classes=10)
def forward():
    return torch.nn.functional.cross_entropy(model(torch.randn(4, 3, 64, 64)), torch.randint(10, (4,)))
""",
}
LOOP = """
import gc, resource, sys, time, torch
torch.set_num_threads(1)
sys.path.insert(0, {examples!r})
torch.manual_seed(1)
{job}
optimizer = torch.optim.AdamW(model.parameters())
def step():
    optimizer.zero_grad()
    loss = forward()
    loss.backward()
    optimizer.step()
for _ in range(3):
    step()
print("ready", flush=True)
sys.stdin.readline()
until, minute, steps = time.monotonic() + {seconds}, 0, 0
used, began = time.process_time(), time.perf_counter()
while steps < {steps} or time.monotonic() < until:
    step()
    steps += 1
    if {seconds} and time.perf_counter() - began >= 60 * minute:
        resident = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
        print(minute, resident, len(gc.get_objects()), flush=True)
        minute += 1
print("took", (time.process_time() - used) / steps, (time.perf_counter() - began) / steps, flush=True)
"""
WAYS = ("alone", "not attached", "attached")


class Run:
    """A job, one way. Its viewer reads the stream at 10 Hz into a file."""

    def __init__(self, memtop: str, job: str, way: str, folder: Path, steps: int, seconds: float) -> None:
        examples = str(Path(__file__).resolve().parents[3] / "examples")
        code = LOOP.format(job=JOBS[job], examples=examples, steps=steps, seconds=seconds)
        script = folder / "job.py"
        script.write_text(code)
        environment = {**os.environ, "MEMTOP_DIR": str(folder), "OMP_NUM_THREADS": "1"}
        command = [] if way == "alone" else [memtop, "run", "--"]
        self.job = subprocess.Popen(
            [*command, sys.executable, str(script)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.job.stdin and self.job.stdout
        self.lines = self.job.stdout
        while self.lines.readline() != "ready\n":
            if self.job.poll() is not None:
                raise SystemExit(f"the job {job} ended before it was ready")
        self.viewer = None
        if way == "attached":
            recorded = [memtop, "record", str(self.job.pid), "-o", str(folder / "run.mtr"), "--interval", "100ms"]
            self.viewer = subprocess.Popen(recorded, env=environment, stdout=subprocess.DEVNULL)
            time.sleep(1)
        self.job.stdin.write("go\n")
        self.job.stdin.flush()

    def results(self) -> list[list[str]]:
        """Return the lines that the job prints, in words, once it has ended."""
        lines = []
        for line in self.lines:
            lines.append(line.split())
            if lines[-1][0] != "took":
                print(*lines[-1], flush=True)
        if self.job.wait() != 0:
            raise SystemExit("the job failed")
        if self.viewer is not None:
            self.viewer.wait()
        return lines


def measured(memtop: str, job: str, way: str, steps: int) -> tuple[float, float]:
    """Return the processor's seconds and the seconds of a step."""
    with tempfile.TemporaryDirectory() as folder:
        (took,) = Run(memtop, job, way, Path(folder), steps, 0).results()
    return float(took[1]), float(took[2])


def interval(values: list[float]) -> tuple[float, float]:
    """Return the two values between which the median lies with 95 %."""
    ordered, count = sorted(values), len(values)
    below = max(0, math.floor(count / 2 - 1.96 * math.sqrt(count) / 2))
    return ordered[below], ordered[count - 1 - below]


def change(values: list[float]) -> str:
    low, high = interval(values)
    return " ".join(f"{100 * (value - 1):+.2f} %" for value in (statistics.median(values), low, high))


def compare(memtop: str, job: str, pairs: int, steps: int) -> None:
    """Run the rounds of a job, and print its rows."""
    rounds: list[dict[str, tuple[float, float]]] = []
    for number in range(pairs):
        ways = WAYS[number % 3 :] + WAYS[: number % 3]
        rounds.append({way: measured(memtop, job, way, steps) for way in ways})
    milliseconds = 1000 * statistics.median(r["alone"][1] for r in rounds)
    for way in WAYS[1:]:
        ratios = [[r[way][which] / r["alone"][which] for r in rounds] for which in (0, 1)]
        print(
            f"| {job}, {milliseconds:.1f} ms a step | {way} | {change(ratios[0])} | {change(ratios[1])} | {pairs} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("memtop")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--soak", type=float, default=0, help="minutes")
    options = parser.parse_args()
    if options.soak:
        print("minute, resident bytes, Python objects")
        with tempfile.TemporaryDirectory() as folder:
            Run(options.memtop, "GPT", "attached", Path(folder), 1, 60 * options.soak).results()
        return
    print("| job | agent | processor time: median, 95 % from, to | step time: median, 95 % from, to | rounds |")
    print("|---|---|---|---|---:|")
    for job in JOBS:
        compare(options.memtop, job, options.pairs, options.steps)


if __name__ == "__main__":
    main()
