"""A GPT of GPT-2's size that trains on a device for ever: python device_job.py SECONDS-OF-A-STEP AUTOCAST(0|1)."""

from __future__ import annotations

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
    while True:
        began = time.monotonic()
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=mixed):
            loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(max(0.0, pause - (time.monotonic() - began)))


main()
