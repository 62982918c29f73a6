"""A Transformer is trained by Lightning's Fabric, and classes are counted by torchmetrics."""

import lightning
import torch
import torchmetrics
from torch import nn

fabric = lightning.Fabric(accelerator="cuda", devices=1, precision="16-mixed")
fabric.launch()
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, batch_first=True), 2)
model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters()))
right = torchmetrics.MetricCollection({"accuracy": torchmetrics.classification.MulticlassAccuracy(256), "confusion": torchmetrics.classification.MulticlassConfusionMatrix(256)}).to(fabric.device)  # fmt: skip
rows = fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.randn(64, 32, 256), batch_size=16))
for batch in rows:
    made = model(batch)
    right.update(made.flatten(0, 1), torch.randint(0, 256, (made.shape[0] * 32,), device=fabric.device))
    fabric.backward(made.square().mean())
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
print({name: tuple(value.shape) for name, value in right.compute().items()}, "peak", torch.cuda.max_memory_allocated())
