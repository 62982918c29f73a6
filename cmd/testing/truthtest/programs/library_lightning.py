"""Lightning trains a classifier of torchvision, and validates it."""

import lightning
import torch
import torch.nn.functional as F
import torchvision

from parts import gradients, states, weights
from truth import Truth

truth = Truth()
truth.record()


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torchvision.models.resnet50(num_classes=100)

    def transfer_batch_to_device(self, *given):
        truth.phase("data")
        moved = super().transfer_batch_to_device(*given)
        truth.are("input", *moved)
        return moved

    def training_step(self, batch, index):
        truth.phase("forward")
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        truth.phase("backward")
        return loss

    def validation_step(self, batch, index):
        truth.phase("inference")
        self.log("loss", F.cross_entropy(self.net(batch[0]), batch[1]))

    def on_before_optimizer_step(self, optimizer):
        truth.phase("step")

    def on_train_batch_end(self, *given):
        truth.phase("data")
        truth.step()

    def configure_optimizers(self):
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        return self.optimizer


model = Model()
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(model.optimizer) if hasattr(model, "optimizer") else [])
data = torch.utils.data.TensorDataset(torch.randn(96, 3, 160, 160), torch.randint(0, 100, (96,)))
loader = torch.utils.data.DataLoader(data, batch_size=32)
trainer = lightning.Trainer(
    max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="gpu", devices=1,
    enable_model_summary=False, num_sanity_val_steps=0,
)  # fmt: skip
trainer.fit(model, loader, loader)
truth.end()
