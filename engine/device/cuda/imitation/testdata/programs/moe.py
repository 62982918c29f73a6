"""A mixture of experts like Mixtral, with random weights: which words go to an expert depends on what the router computes."""

import torch
from transformers import MixtralConfig, MixtralForCausalLM

config = MixtralConfig(
    hidden_size=512, intermediate_size=1792, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4,
    num_local_experts=8, num_experts_per_tok=2,
)  # fmt: skip
model = MixtralForCausalLM(config).to(torch.bfloat16).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(5):
    words = torch.zeros(2, 512, dtype=torch.long, device="cuda")
    model(input_ids=words, labels=words).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
