"""A DDPM of diffusers learns to take noise away, and makes pictures, all of random weights."""

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup

model = UNet2DModel(
    sample_size=32, layers_per_block=1, block_out_channels=(64, 128),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).cuda()  # fmt: skip
noise = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
rate = get_cosine_schedule_with_warmup(optimizer, 1, 10)
for _ in range(4):
    pictures, added = torch.rand(8, 3, 32, 32).cuda(), torch.randn(8, 3, 32, 32).cuda()
    times = torch.randint(0, 1000, (8,), device="cuda", dtype=torch.int64)
    loss = torch.nn.functional.mse_loss(
        model(noise.add_noise(pictures, added, times), times, return_dict=False)[0], added
    )
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    rate.step()
    optimizer.zero_grad()
made = DDPMPipeline(unet=model.eval(), scheduler=noise)(batch_size=2, num_inference_steps=4, output_type="np").images
print("pictures", made.shape, "peak", torch.cuda.max_memory_allocated())
