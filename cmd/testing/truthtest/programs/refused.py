"""A GPU that is too small for what the cache keeps: the driver refuses, and the allocator empties its cache."""

import torch

from truth import Truth

truth = Truth("expandable_segments", expect=("driver_refused",), wrong={"empty_cache": "nobody calls it"})
truth.record()
for turn in range(40):
    truth.phase("data")
    x = torch.ones((64 + 8 * turn) << 20, device="cuda")  # 256 MiB and more
    truth.are("input", x)
    truth.phase("inference")
    y = x * 2
    truth.are("inference/activation", y)
    best = y.argmax().item()
    del y
    truth.step()
truth.end()
