"""A network of timm is trained on images; its name is the argument."""

import sys

import timm
import torch

model = timm.create_model(sys.argv[1] if len(sys.argv) > 1 else "resnet50").cuda().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(4):
    images = torch.zeros(32, 3, 224, 224, device="cuda")
    labels = torch.zeros(32, dtype=torch.long, device="cuda")
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
