"""Measure what the agent costs a job that nobody watches, with a black box and without.

    python bench/box.py [cpu|cuda] [--turns N] [--seconds SECONDS] [--step MILLISECONDS]

The two kinds of jobs run in turn, each in a process of its own. The time within the agent's hook is measured in the
job itself: two jobs differ by more than the agent costs. Most calls only count the step; a few in each second note
it. The result has the median of each kind, which other programs on the machine change little, and the share of the
job's time that they come to. Looks and counts are not in it: they are paid from budgets of 0.03 % and 0.05 %. For CUDA
without a GPU, run it under `imitate`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

JOB = """
import sys, time
sys.path.insert(0, {agent!r})
import torch
torch.set_num_threads(1)
import memtop.agent, memtop.stepping as stepping
memtop.agent.start()
clock, costs = time.perf_counter_ns, []
def timed(listener):
    def call(optimizer):
        begin = clock()
        due = begin >= watch.unwatched.due_at
        listener(optimizer)
        costs.append((due, clock() - begin))
    return call
watch = memtop.agent.watching()
stepping._listeners = tuple(map(timed, stepping._listeners))
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(8))).to({device!r})
optimizer = torch.optim.AdamW(model.parameters())
data = torch.ones(8, 64, device={device!r})
def steps_for(seconds):
    steps, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        soon = time.monotonic() + {step}
        optimizer.zero_grad()
        model(data).sum().backward()
        optimizer.step()
        steps += 1
        time.sleep(max(0, soon - time.monotonic()))
    return steps
steps_for({seconds} / 4)
costs.clear()
steps_for({seconds})
for kind in (False, True):
    print(*(cost for due, cost in costs if due is kind))
"""


def measure(options: argparse.Namespace, box: bool) -> list[list[int]]:
    """Return the nanoseconds of each call of the agent's hook in one job: those that count a step, and those that note
    one."""
    with tempfile.TemporaryDirectory() as folder:
        job = JOB.format(
            agent=str(Path(__file__).resolve().parents[1]), device=options.device, step=options.step / 1000,
            seconds=options.seconds,
        )  # fmt: skip
        environment = {**os.environ, "MEMTOP_DIR": str(Path(folder, "memtop")), "OMP_NUM_THREADS": "1"}
        environment.update({} if box else {"MEMTOP_BLACK_BOX": "off"})
        done = subprocess.run([sys.executable, "-c", job], env=environment, capture_output=True, text=True, check=True)
    return [[int(cost) for cost in line.split()] for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("device", nargs="?", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30, help="of each turn")
    parser.add_argument("--step", type=float, default=3, help="milliseconds of a step, at least")
    options = parser.parse_args()
    found: dict[bool, list[list[int]]] = {False: [[], []], True: [[], []]}
    for turn in range(2 * options.turns):
        box = turn % 4 in (1, 2)
        for kind, costs in zip(found[box], measure(options, box)):
            kind += costs
    for box, kinds in found.items():
        counted, noted = (statistics.median(costs) / 1000 for costs in kinds)
        seconds = options.turns * options.seconds
        share = (counted * len(kinds[0]) + noted * len(kinds[1])) / 1e4 / seconds
        which = f"{options.device}, {'with' if box else 'without'} a box"
        print(
            f"{which}: {len(kinds[0])} steps counted in {counted:.1f} us, "
            f"{len(kinds[1])} noted in {noted:.1f} us, {share:.3f} % of {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
