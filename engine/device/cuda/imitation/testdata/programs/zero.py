"""DeepSpeed's ZeRO: the stage is the argument. The optimizer is PyTorch's, so nothing is compiled."""

import argparse

import deepspeed
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--stage", type=int, default=2)
parser.add_argument("--local_rank", type=int, default=0)  # which DeepSpeed's launcher adds
stage = parser.parse_args().stage
config = {
    "train_micro_batch_size_per_gpu": 8,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": stage},
    "zero_allow_untested_optimizer": True,
}
with deepspeed.zero.Init(config_dict_or_path=config, enabled=stage == 3):
    model = nn.Sequential(*[nn.Sequential(nn.Linear(2048, 2048), nn.GELU()) for _ in range(8)])
engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=config)
for _ in range(5):
    rows = torch.zeros(8, 2048, dtype=torch.bfloat16, device=engine.device)
    engine.backward(engine(rows).float().square().mean())
    engine.step()
print(f"rank {engine.global_rank}: peak {torch.cuda.max_memory_allocated()}")
torch.distributed.destroy_process_group()
