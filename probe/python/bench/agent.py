"""Measure what the agent costs a job.

    python bench/agent.py MEMTOP [--turns N] [--warm SECONDS] [--seconds SECONDS] [--soak MINUTES]

Jobs of a fixed pace, with nobody watching and with a viewer at 10 Hz: what the training thread spends in the agent's
call at the end of a step, and what all other threads spend, in shares of the time. No other job is needed for that, so
it does not matter how far two processes differ.

A real job, in turn with a viewer and without, for a viewer also puts hooks into its steps. It attaches and leaves
again, and each turn with it is compared with the mean of the turns before and after it, so a drift does not matter.
Measuring begins some seconds after the viewer came: the first look costs more, once, and the agent reports that itself.
The table shows the median of the ratios, and the interval that contains the true median with 95 % (by order statistics,
for any distribution).

A rehearsal to which ten viewers attach, one after the other: when each has its answer, and how much slower its steps
are meanwhile.

A soak runs one attached job for some time, and prints its memory every minute.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
def steps_for(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        step()
        yield
for _ in range(3):
    step()
print("ready", flush=True)
for line in sys.stdin:
    steps, minute = 0, 0
    used, began = time.process_time(), time.perf_counter()
    for _ in steps_for(float(line)):
        steps += 1
        if {soaks} and time.perf_counter() - began >= 60 * minute:
            resident = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
            print(minute, resident, len(gc.get_objects()), flush=True)
            minute += 1
    print("took", (time.process_time() - used) / steps, (time.perf_counter() - began) / steps, flush=True)
"""


class Job:
    """A job that makes steps for as many seconds as it is told."""

    def __init__(self, memtop: str, job: str, folder: Path, soaks: bool = False) -> None:
        examples = str(Path(__file__).resolve().parents[3] / "examples")
        script = folder / "job.py"
        script.write_text(LOOP.format(job=JOBS[job], examples=examples, soaks=soaks))
        self.memtop, self.recording = memtop, folder / "run.mtr"
        self.environment = {**os.environ, "MEMTOP_DIR": str(folder), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [memtop, "run", "--", sys.executable, str(script)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin and self.process.stdout
        self.commands, self.lines = self.process.stdin, self.process.stdout
        self.line("ready")

    def line(self, first: str) -> list[str]:
        """Return the words of the next line that begins with `first`, and print the lines before it."""
        for line in self.lines:
            if line.split()[:1] == [first]:
                return line.split()
            print(line, end="", flush=True)
        raise SystemExit("the job ended before it should")

    def steps(self, seconds: float) -> Cost:
        """Make steps for so many seconds."""
        self.commands.write(f"{seconds}\n")
        self.commands.flush()
        _, processor, wall = self.line("took")
        return Cost(float(processor), float(wall))

    @contextlib.contextmanager
    def viewed(self) -> Iterator[None]:
        """Attach a viewer, which reads the stream at 10 Hz into a file."""
        self.recording.unlink(missing_ok=True)
        record = [self.memtop, "record", str(self.process.pid), "-o", str(self.recording), "--interval", "100ms"]
        viewer = subprocess.Popen(record, env=self.environment, stdout=subprocess.DEVNULL)
        try:
            yield
            if viewer.poll() is not None:
                raise SystemExit("the viewer left too early")
        finally:
            viewer.send_signal(signal.SIGINT)
            viewer.wait()

    def end(self) -> None:
        self.commands.close()
        if self.process.wait() != 0:
            raise SystemExit("the job failed")


class Cost(NamedTuple):
    """The cost of a step, in seconds."""

    processor: float
    wall: float


def interval(values: list[float]) -> tuple[float, float]:
    """Return the two values that contain the median with 95 %."""
    ordered, count = sorted(values), len(values)
    below = max(0, math.floor(count / 2 - 1.96 * math.sqrt(count) / 2))
    return ordered[below], ordered[count - 1 - below]


def change(values: list[float]) -> str:
    low, high = interval(values)
    return " ".join(f"{100 * (value - 1):+.2f} %" for value in (statistics.median(values), low, high))


def compare(options: argparse.Namespace, job: str) -> None:
    """Run the turns of a job, and print its row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        running = Job(options.memtop, job, Path(folder))
        running.steps(options.warm)
        alone, viewed = [running.steps(options.seconds)], []
        for _ in range(options.turns):
            with running.viewed():
                running.steps(options.warm)
                viewed.append(running.steps(options.seconds))
            running.steps(1)
            alone.append(running.steps(options.seconds))
        running.end()
    ratios = [
        change([2 * with_it[which] / (alone[i][which] + alone[i + 1][which]) for i, with_it in enumerate(viewed)])
        for which in (0, 1)
    ]
    milliseconds = 1000 * statistics.median(cost.wall for cost in alone)
    print(f"| {job}, {milliseconds:.1f} ms a step | {ratios[0]} | {ratios[1]} | {options.turns} |", flush=True)


PACED = """
import os, sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
data = torch.randn(64, 64)
pace = float(sys.argv[1]) / 1000
now = time.perf_counter
def steps(seconds):
    until = now() + seconds
    while now() < until:
        end = now() + pace
        optimizer.zero_grad()
        model(data).sum().backward()
        optimizer.step()
        while now() < end:
            pass
print(os.getpid(), flush=True)
steps(float(sys.argv[2]))
hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
[(handle, agents)] = hooks.items()
spent = 0.0
def timed(*arguments):
    global spent
    began = now()
    agents(*arguments)
    spent += now() - began
hooks[handle] = timed
began, others = now(), time.thread_time() - time.process_time()
steps(float(sys.argv[3]))
took, others = now() - began, others + time.process_time() - time.thread_time()
print(100 * spent / took, 100 * others / took)
"""


def paced(options: argparse.Namespace, milliseconds: int, viewed: bool) -> None:
    """Print the row of a job of one pace."""
    with tempfile.TemporaryDirectory() as folder:
        (script := Path(folder) / "job.py").write_text(PACED)
        environment = {**os.environ, "MEMTOP_DIR": folder, "OMP_NUM_THREADS": "1"}
        command = [options.memtop, "run", "--", sys.executable, str(script)]
        arguments = [str(milliseconds), str(3 * options.warm), str(options.seconds)]
        job = subprocess.Popen([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
        assert job.stdout
        process = job.stdout.readline().strip()
        viewer = None
        if viewed:
            record = [options.memtop, "record", process, "-o", str(Path(folder) / "run.mtr"), "--interval", "100ms"]
            viewer = subprocess.Popen(record, env=environment, stdout=subprocess.DEVNULL)
        hook, others = map(float, job.stdout.readline().split())
        job.wait()
        if viewer is not None:
            viewer.wait()
    watching = "a viewer at 10 Hz" if viewed else "nobody"
    print(f"| {milliseconds} ms | {watching} | {hook:.3f} % | {others:.3f} % | {hook + others:.3f} % |", flush=True)


REHEARSED = """
import sys, time, torch
layers = [torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(6)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randn(16, 64, 256, device="cuda")
with open(sys.argv[1], "w", buffering=1) as file:
    while True:
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
        print(time.monotonic(), file=file)
"""


def attaches(options: argparse.Namespace) -> None:
    """Print how fast a rehearsal answers ten viewers in a row, and what they take of its pace."""
    with tempfile.TemporaryDirectory() as folder:
        (script := Path(folder) / "job.py").write_text(REHEARSED)
        (times := Path(folder) / "times").touch()
        environment = {**os.environ, "MEMTOP_DIR": folder, "OMP_NUM_THREADS": "1"}
        command = [options.memtop, "rehearse", "--steps", "1000000", "--gpu", "h100-80gb", "--", sys.executable]
        job = subprocess.Popen(
            [*command, str(script), str(times)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while len(times.read_text().splitlines()) < 300:
            time.sleep(0.1)
        listed = subprocess.run([options.memtop, "ls", "--json"], env=environment, stdout=subprocess.PIPE, check=True)
        [process] = json.loads(listed.stdout)
        marks, answers = [time.monotonic()], []
        time.sleep(options.seconds)
        marks.append(time.monotonic())
        for _ in range(10):
            began = time.monotonic()
            attach = [options.memtop, "attach", "--once", "--json", str(process["pid"])]
            subprocess.run(attach, env=environment, stdout=subprocess.DEVNULL, check=True)
            answers.append(time.monotonic() - began)
        marks.append(time.monotonic())
        time.sleep(options.seconds)
        marks.append(time.monotonic())
        job.send_signal(signal.SIGINT)
        job.wait()
        steps = [float(line) for line in times.read_text().splitlines()]
    before, while_, after = (sum(a < s < b for s in steps) / (b - a) for a, b in zip(marks, marks[1:]))
    print(
        f"ten attaches to a rehearsal: {min(answers):.2f} to {max(answers):.2f} s each; steps a second "
        f"{before:.1f} before, {while_:.1f} meanwhile, {after:.1f} after",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("memtop")
    parser.add_argument("--turns", type=int, default=20, help="with a viewer, and without")
    parser.add_argument("--warm", type=float, default=10, help="seconds between the viewer's coming and the first time")
    parser.add_argument("--seconds", type=float, default=20, help="of each turn")
    parser.add_argument("--soak", type=float, default=0, help="minutes")
    options = parser.parse_args()
    if options.soak:
        print("minute, resident bytes, Python objects")
        with tempfile.TemporaryDirectory() as folder:
            job = Job(options.memtop, "GPT", Path(folder), soaks=True)
            with job.viewed():
                job.steps(60 * options.soak)
            job.end()
        return
    print("| step | watching | the hook | other threads | together |")
    print("|---|---|---:|---:|---:|")
    for milliseconds in (1, 20, 60):
        for viewed in (False, True):
            paced(options, milliseconds, viewed)
    attaches(options)
    print("| job | processor time: median, 95 % from, to | step time: median, 95 % from, to | turns |")
    print("|---|---|---|---:|")
    for job in JOBS:
        compare(options, job)


if __name__ == "__main__":
    main()
