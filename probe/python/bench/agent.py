"""What the agent costs a job, by interleaved pairs: alone, and attached at 10 Hz.

    python bench/agent.py MEMTOP [--pairs N] [--warm SECONDS] [--seconds SECONDS] [--soak MINUTES]

Each pair runs both ways of a job one after the other, in an order that changes, so
that what else the machine does falls on both. A viewer comes when a job is warm, and
times are taken from some seconds later on: what its first look costs is had once, and
the agent says it of itself. The table has the median of each pair's ratio to the job
alone, with the interval in which the true median lies with 95 % (by order statistics,
of any distribution). What the agent costs while no viewer looks is a few calls in a
step, far below what two runs differ by: it is measured on a job whose steps take
microseconds. A soak runs one job for a time while it is attached, and prints its
memory by minute.
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
    "idle": """
model = torch.nn.Linear(1, 1)
data = torch.ones(1, 1)
def forward():
    return model(data).sum()
""",
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
def steps_for(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        step()
        yield
for _ in range(3):
    step()
print("ready", flush=True)
sys.stdin.readline()
for _ in steps_for({warm}):
    pass
minute, steps = 0, 0
used, began = time.process_time(), time.perf_counter()
for _ in steps_for({seconds}):
    steps += 1
    if {soaks} and time.perf_counter() - began >= 60 * minute:
        resident = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
        print(minute, resident, len(gc.get_objects()), flush=True)
        minute += 1
print("took", (time.process_time() - used) / steps, (time.perf_counter() - began) / steps, flush=True)
"""


class Run:
    """A job, one way. Its viewer reads the stream at 10 Hz into a file."""

    def __init__(
        self, memtop: str, job: str, way: str, folder: Path, warm: float, seconds: float, soaks: bool = False
    ) -> None:
        examples = str(Path(__file__).resolve().parents[3] / "examples")
        code = LOOP.format(job=JOBS[job], examples=examples, warm=warm, seconds=seconds, soaks=soaks)
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


def measured(options: argparse.Namespace, job: str, way: str) -> tuple[float, float]:
    """Return the processor's seconds and the seconds of a step."""
    with tempfile.TemporaryDirectory() as folder:
        (took,) = Run(options.memtop, job, way, Path(folder), options.warm, options.seconds).results()
    return float(took[1]), float(took[2])


def pairs_of(options: argparse.Namespace, job: str, way: str) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return what was measured of the job alone and of it in the other way, in turn."""
    pairs = []
    for number in range(options.pairs):
        order = ("alone", way) if number % 2 else (way, "alone")
        times = {each: measured(options, job, each) for each in order}
        pairs.append((times["alone"], times[way]))
    return pairs


def interval(values: list[float]) -> tuple[float, float]:
    """Return the two values between which the median lies with 95 %."""
    ordered, count = sorted(values), len(values)
    below = max(0, math.floor(count / 2 - 1.96 * math.sqrt(count) / 2))
    return ordered[below], ordered[count - 1 - below]


def change(values: list[float]) -> str:
    low, high = interval(values)
    return " ".join(f"{100 * (value - 1):+.2f} %" for value in (statistics.median(values), low, high))


def compare(options: argparse.Namespace, job: str) -> None:
    """Run the pairs of a job, and print its row."""
    pairs = pairs_of(options, job, "attached")
    milliseconds = 1000 * statistics.median(alone[1] for alone, _ in pairs)
    ratios = [change([with_it[which] / alone[which] for alone, with_it in pairs]) for which in (0, 1)]
    print(f"| {job}, {milliseconds:.1f} ms a step | {ratios[0]} | {ratios[1]} | {len(pairs)} |", flush=True)


def idle(options: argparse.Namespace) -> None:
    """Print what a step costs while no viewer looks: the least of each way."""
    options = argparse.Namespace(**{**vars(options), "warm": 1, "seconds": 3})
    pairs = pairs_of(options, "idle", "not attached")
    alone, with_it = (1e6 * min(pair[which][0] for pair in pairs) for which in (0, 1))
    print(
        f"not attached: {with_it - alone:+.2f} us a step ({alone:.1f} us alone), least of {len(pairs)} each", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("memtop")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--warm", type=float, default=15, help="seconds between the viewer's coming and the first time")
    parser.add_argument("--seconds", type=float, default=30, help="of each run")
    parser.add_argument("--soak", type=float, default=0, help="minutes")
    options = parser.parse_args()
    if options.soak:
        print("minute, resident bytes, Python objects")
        with tempfile.TemporaryDirectory() as folder:
            Run(options.memtop, "GPT", "attached", Path(folder), 0, 60 * options.soak, soaks=True).results()
        return
    idle(options)
    print("| job | processor time: median, 95 % from, to | step time: median, 95 % from, to | pairs |")
    print("|---|---|---|---:|")
    for job in ("GPT", "ResNet"):
        compare(options, job)


if __name__ == "__main__":
    main()
