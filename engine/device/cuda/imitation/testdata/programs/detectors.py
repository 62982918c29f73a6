"""Detectors of torchvision are trained and asked: their numbers of boxes depend on what they compute."""

import sys

import torch
from torchvision.models import detection

torch.manual_seed(0)
model = getattr(detection, sys.argv[1])(weights=None, weights_backbone=None, num_classes=5).cuda().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(2):
    images = [torch.rand(3, 240, 320).cuda() for _ in range(2)]
    known = [{"boxes": torch.tensor([[10.0, 10, 200, 200], [50, 60, 150, 190]]).cuda(), "labels": torch.tensor([1, 2]).cuda(), "masks": torch.ones(2, 240, 320, dtype=torch.uint8).cuda()} for _ in images]  # fmt: skip
    sum(model(images, known).values()).backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    model([torch.rand(3, 240, 320).cuda()])
print("peak", torch.cuda.max_memory_allocated())
