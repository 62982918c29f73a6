"""Takes memory of the driver beside PyTorch's, trains, and asks memtop who has the device's memory, as a program that
`memtop run --driver-calls` has started. It prints one line, and fails where the ledger is not what was taken."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

OWN = 40 << 20  # bytes that it takes of the driver itself
UNEXPLAINED = 0.05  # of what the driver counts, at most


def take():
    """Take memory of the driver, by a call of its own."""
    address = ctypes.c_uint64()
    status = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(OWN))
    if status:
        sys.exit(f"cuMemAlloc: error {status}")


def steps():
    """Train, a step each time that it is asked for one."""
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        model(torch.randn(256, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        yield torch.cuda.synchronize()


def ledger(memtop, training):
    """Return the device's ledger of a look from now on. Steps go on meanwhile, as memtop waits for one."""
    since = time.time() * 1e6
    while True:
        with tempfile.TemporaryFile() as file:
            asked = subprocess.Popen([memtop, "attach", str(os.getpid()), "--once", "--json"], stdout=file)
            while asked.poll() is None:
                next(training)
            if asked.returncode:
                sys.exit(f"memtop attach ended with {asked.returncode}")
            file.seek(0)
            card = json.load(file)["card"]
        if card and card["time_us"] > since:
            return card


def main():
    training = steps()
    next(training)
    take()
    card = ledger(sys.argv[1], training)
    rows = {row["name"]: row["bytes"] for row in card["ledger"]}
    unexplained = rows.get("unexplained", 0)
    print(f"of the driver's {card['bytes']} bytes {unexplained} unexplained, {card['lost_calls']} calls lost: {rows}")
    wrong = {
        "calls are not seen": not card["watched"],
        "calls were lost": card["lost_calls"] > 0,
        "its own call has no row": OWN not in rows.values(),
        "the rows do not sum to the driver's figure": sum(rows.values()) != card["bytes"],
        "too much is unexplained": abs(unexplained) > UNEXPLAINED * card["bytes"],
    }
    sys.exit("; ".join(why for why, so in wrong.items() if so) or 0)


main()
