"""Training by several ranks: python ranks.py ddp|fsdp2."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
import torch.distributed
from training import train

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def ddp(model: Any) -> Any:
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])


def fsdp2(model: Any) -> Any:
    from torch.distributed.fsdp import fully_shard

    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


torch.cuda.set_device(device)
torch.distributed.init_process_group("nccl", device_id=device)
train(device, {"ddp": ddp, "fsdp2": fsdp2}[sys.argv[1]])
torch.distributed.destroy_process_group()
