"""One of several ranks that train together; the last one has four times the samples: python uneven.py STEPS."""

from __future__ import annotations

import sys
import time

import torch


def main() -> None:
    torch.distributed.init_process_group("gloo")
    last = torch.distributed.get_rank() == torch.distributed.get_world_size() - 1
    layers = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512))
    model = torch.nn.parallel.DistributedDataParallel(layers)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(int(sys.argv[1])):
        model(torch.randn(1024 if last else 256, 512)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)


if __name__ == "__main__":
    main()
