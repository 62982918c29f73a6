"""A GPT of GPT-2's size that trains on a device for ever: python device_job.py SECONDS-OF-A-STEP AUTOCAST(0|1).

After each step it prints the step's number and its two peaks, in bytes: of what was asked for, and of blocks.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import torch

import memtop.auto  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples"))
import train

BATCH, LENGTH, VOCABULARY = 4, 256, 50257  # small: tensors saved in host memory are real


def main() -> None:
    pause, mixed = float(sys.argv[1]), sys.argv[2] == "1"
    model = train.GPT(vocabulary=VOCABULARY, length=LENGTH, layers=12, width=768, heads=12).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in itertools.count(1):
        torch.cuda.reset_peak_memory_stats()
        began = time.monotonic()
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=mixed):
            loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        peaks = torch.cuda.memory_stats()
        print(f"{step} {peaks['requested_bytes.all.peak']} {peaks['allocated_bytes.all.peak']}")
        time.sleep(max(0.0, pause - (time.monotonic() - began)))


main()
