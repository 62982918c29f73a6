"""An evaluation that reads ever longer documents and keeps a part of each result.

It reserves far more memory than it uses: memtop rehearse -o eval.pickle -- python examples/evaluate.py
"""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
kept = []
with torch.no_grad():
    for document in range(1, 41):
        hidden = model(torch.zeros(document * 1024, 512, device="cuda"))
        kept.append(hidden[: document * 24].clone())
        del hidden
