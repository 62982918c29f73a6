"""Faster R-CNN of torchvision is trained: how many of its proposals are kept depends on what it computes."""

import torch
import torchvision

model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=91)
model = model.cuda().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(3):
    images = [torch.rand(3, 480, 640).cuda() for _ in range(2)]
    boxes = [{"boxes": torch.tensor([[10.0, 10, 200, 200], [50, 60, 300, 400]]).cuda(), "labels": torch.tensor([1, 2]).cuda()} for _ in images]  # fmt: skip
    sum(model(images, boxes).values()).backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
