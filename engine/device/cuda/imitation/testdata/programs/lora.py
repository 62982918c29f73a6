"""LoRA of PEFT on a Llama with random weights."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16
)
model = LlamaForCausalLM(config).to(torch.bfloat16).cuda()
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for _ in range(5):
    words = torch.zeros(2, 1024, dtype=torch.long, device="cuda")
    model(input_ids=words, labels=words).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
