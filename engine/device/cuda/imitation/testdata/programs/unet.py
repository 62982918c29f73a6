"""A training step of a diffusers UNet, as of Stable Diffusion 1, in bf16."""

import torch
from diffusers import UNet2DConditionModel

model = UNet2DConditionModel(sample_size=64, cross_attention_dim=768, attention_head_dim=8).cuda().train()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    with torch.autocast("cuda", torch.bfloat16):
        noise = model(
            torch.randn(1, 4, 64, 64, device="cuda"), torch.tensor([10], device="cuda"), torch.randn(1, 77, 768, device="cuda")
        ).sample  # fmt: skip
    noise.float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
