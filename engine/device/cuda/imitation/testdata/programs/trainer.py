"""GPT-2 124M, with random weights, is trained by Hugging Face's Trainer in bf16."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

TOKENS = 512
rows = [{"input_ids": torch.full((TOKENS,), n), "labels": torch.full((TOKENS,), n)} for n in range(64)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, per_device_train_batch_size=4, max_steps=5, bf16=True, logging_steps=1, save_strategy="no", report_to=[]
    )
    Trainer(GPT2LMHeadModel(GPT2Config(n_positions=TOKENS)), arguments, train_dataset=rows).train()
print("peak", torch.cuda.max_memory_allocated())
