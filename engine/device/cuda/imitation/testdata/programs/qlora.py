"""QLoRA: a Llama with random weights in 4 bits, adapters of PEFT, and 8-bit AdamW of bitsandbytes."""

import bitsandbytes as bnb
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM


def in_four_bits(module):
    """Replace the linear layers below a module."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            layer = bnb.nn.Linear4bit(
                child.in_features, child.out_features, bias=False, compute_dtype=torch.bfloat16, quant_type="nf4"
            )
            layer.weight = bnb.nn.Params4bit(child.weight.data, requires_grad=False, quant_type="nf4")
            setattr(module, name, layer)
        else:
            in_four_bits(child)


config = LlamaConfig(
    hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16
)
model = LlamaForCausalLM(config).to(torch.bfloat16)
in_four_bits(model.model)
model.is_loaded_in_4bit = True
model = prepare_model_for_kbit_training(model.cuda())
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
optimizer = bnb.optim.AdamW8bit([p for p in model.parameters() if p.requires_grad])
for _ in range(5):
    words = torch.zeros(2, 512, dtype=torch.long, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(input_ids=words, labels=words).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
