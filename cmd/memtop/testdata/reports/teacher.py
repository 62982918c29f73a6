"""A student learns from a teacher that is only in eval mode: the teacher's graph is kept, and it gets gradients too."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

fix = "fix" in sys.argv


def net(width, depth):
    layers = [nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(depth)]
    return nn.Sequential(nn.Linear(512, width), *layers, nn.Linear(width, 100)).cuda()


student, teacher = net(512, 2), net(2048, 8).eval()
optimizer = torch.optim.AdamW(student.parameters())
for _ in range(6):
    x = torch.randn(2048, 512, device="cuda")
    with torch.set_grad_enabled(not fix):
        soft = F.softmax(teacher(x) / 4, -1)
    F.kl_div(F.log_softmax(student(x) / 4, -1), soft, reduction="batchmean").backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated())
