"""Six linear layers are trained by Lightning's Trainer."""

import lightning
import torch
from torch import nn


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(6)])

    def training_step(self, batch, at):
        loss = self.layers(batch).square().mean()
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


rows = torch.utils.data.DataLoader(torch.zeros(512, 1024), batch_size=64)
trainer = lightning.Trainer(
    accelerator="gpu", devices=1, max_steps=5, logger=False, enable_checkpointing=False, precision="bf16-mixed"
)
trainer.fit(Model(), rows)
print("peak", torch.cuda.max_memory_allocated())
