"""A mixture of 16 experts like Qwen's, with random weights, is trained by Trainer; its router's loss counts words."""

import tempfile

import torch
from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM, Trainer, TrainingArguments

config = Qwen2MoeConfig(
    hidden_size=256, intermediate_size=512, moe_intermediate_size=128, shared_expert_intermediate_size=256, num_hidden_layers=3,
    num_attention_heads=4, num_key_value_heads=4, num_experts=16, num_experts_per_tok=4, vocab_size=8000, output_router_logits=True,
)  # fmt: skip
rows = [{"input_ids": torch.randint(0, 8000, (256,)), "labels": torch.randint(0, 8000, (256,))} for _ in range(32)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=4,
        max_steps=5,
        bf16=True,
        gradient_checkpointing=True,
        save_strategy="no",
        report_to=[],
    )
    Trainer(Qwen2MoeForCausalLM(config), arguments, train_dataset=rows).train()
print("peak", torch.cuda.max_memory_allocated())
