"""Training as fast as it can, with blocks that can be checkpointed."""

from __future__ import annotations

import torch
from training import train

train(torch.device("cuda"))
