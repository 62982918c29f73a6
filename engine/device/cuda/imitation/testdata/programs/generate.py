"""A Llama with random weights generates words with a KV cache. It stops at a word that nothing computes."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16
)
model = LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()
words = torch.ones(4, 128, dtype=torch.long, device="cuda")
made = model.generate(words, max_new_tokens=200, do_sample=True, pad_token_id=0)
print("words", made.shape[1], "peak", torch.cuda.max_memory_allocated())
