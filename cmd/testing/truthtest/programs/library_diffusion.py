"""A UNet of diffusers trains with accelerate's mixed precision."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel

from parts import gradients, states, weights
from truth import Truth

truth = Truth("optimizer_state")
truth.record()
accelerator = Accelerator(mixed_precision="fp16")
model = UNet2DModel(
    sample_size=64, layers_per_block=2, block_out_channels=(128, 128, 256),
    down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
)  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer = accelerator.prepare(model, optimizer)
scheduler = DDPMScheduler(1000)
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer.optimizer))
for _ in range(3):
    truth.phase("data")
    x = torch.randn(8, 3, 64, 64, device="cuda")
    noise = torch.randn_like(x)
    t = torch.randint(0, 1000, (8,), device="cuda")
    noised = scheduler.add_noise(x, noise, t)
    truth.phase("forward")
    loss = F.mse_loss(model(noised, t).sample, noise)
    truth.phase("backward")
    accelerator.backward(loss)
    truth.phase("step")
    optimizer.step()
    optimizer.zero_grad()
    truth.step()
truth.end()
