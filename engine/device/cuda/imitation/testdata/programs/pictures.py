"""A ViT, with random weights, is trained by Trainer to tell pictures apart, and evaluated."""

import tempfile

import torch
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

rows = [{"pixel_values": torch.rand(3, 224, 224), "labels": n % 10} for n in range(64)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, per_device_train_batch_size=16, num_train_epochs=1, fp16=True, save_strategy="no", report_to=[]
    )
    model = ViTForImageClassification(ViTConfig(num_hidden_layers=6, num_labels=10))
    trainer = Trainer(
        model, arguments, train_dataset=rows, eval_dataset=rows[:16],
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    )  # fmt: skip
    trainer.train()
    trainer.evaluate()
print("peak", torch.cuda.max_memory_allocated())
