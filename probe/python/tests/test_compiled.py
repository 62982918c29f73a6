"""torch.compile traces nothing of the agent: its graphs, its counters and its warnings are those without an agent."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

import memtop

# Runs each kind of program alone or looked at, and prints its counters of torch.compile, its losses and its warnings.
PROGRAM = """
import sys, warnings
import torch
from memtop.watch import model_calls
from kept import Kept
from memtop.watch.sampling import Sampling
from memtop.watch.watch import Watch

how = sys.argv[1]
model_calls.PATIENCE_NS = 0  # it also looks at calls at once

def model(net, loss_of, optimizer):
    compiled = torch.compile(net, backend=backend)
    return lambda x: compiled(x).pow(2).mean(), optimizer.step

def function(net, loss_of, optimizer):
    return torch.compile(loss_of, backend=backend), optimizer.step

def in_place(net, loss_of, optimizer):
    net.compile(backend=backend)
    return loss_of, optimizer.step

def parts(net, loss_of, optimizer):
    first, rest = torch.compile(net[0], backend=backend), net[1:]
    def broken(x):
        y = first(x)
        torch._dynamo.graph_break()
        return rest(y).pow(2).mean()
    return torch.compile(broken, backend=backend), optimizer.step

def optimizers(net, loss_of, optimizer):
    return loss_of, torch.compile(optimizer.step, backend=backend)

def run(kind, late):
    global backend
    backend = "eager" if late else "aot_eager"
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._dynamo.eval_frame.TorchPatcher.patch.cache_clear()  # nothing has been compiled
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    loss_of = lambda x: net(x).pow(2).mean()
    forward, step = loss_of, optimizer.step
    watch = Watch(Kept()) if how != "alone" else None
    if watch:
        watch.sampling = Sampling(credit_ns=10**15)  # every step is looked at
        watch.want(how == "looked")
    losses = []
    for n in range(9):
        if n == late:
            forward, step = kind(net, loss_of, optimizer)
        if watch and how == "looked" and n in (5, 7):
            watch.want(n == 7)
        loss = forward(torch.randn(4, 8))
        optimizer.zero_grad()
        loss.backward()
        step()
        losses.append(float(loss.detach()))
    if watch:
        assert watch.guard.error == "", watch.guard.error
        watch.close()
        optimizer.step()
    of = ("frames", "stats", "recompiles")[kind is optimizers :]  # with any hook, a step compiled has other frames
    counters = {name: dict(torch._dynamo.utils.counters[name]) for name in of}
    return counters, dict.fromkeys(torch._dynamo.utils.counters["graph_break"], True), losses

for kind, late in ((model, 0), (function, 0), (in_place, 0), (optimizers, 0), (model, 3), (function, 3), (parts, 3)):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        print((f"{kind.__name__} from step {late}", run(kind, late), [str(w.message)[:200] for w in warned]))
"""


def start(how: str) -> Any:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(memtop.__file__).parents[1]), str(Path(__file__).parent)]),
        "OMP_NUM_THREADS": "1",
        "MEMTOP_DEBUG_THREADS": "0",  # its wrappers are other frames than those of a program
    }
    command = [sys.executable, "-c", PROGRAM, how]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_is_compiled_is_the_same_alone_unwatched_and_looked_at() -> None:
    runs = {how: start(how) for how in ("alone", "unwatched", "looked")}
    results = {}
    for how, process in runs.items():
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        results[how] = [ast.literal_eval(line) for line in out.splitlines()]
    assert results["unwatched"] == results["alone"]
    assert results["looked"] == results["alone"]
