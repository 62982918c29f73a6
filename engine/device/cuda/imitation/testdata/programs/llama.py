"""Llama with 7 billion parameters, with random weights in bf16, makes a step with checkpoints and fused AdamW."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = LlamaForCausalLM(LlamaConfig())
model.gradient_checkpointing_enable()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
tokens = torch.randint(0, 32_000, (1, 2048), device="cuda")
model(input_ids=tokens, labels=tokens, use_cache=False).loss.backward()
optimizer.step()
print("peak", torch.cuda.max_memory_allocated())
