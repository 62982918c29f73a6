"""Whisper of the size tiny, with random weights, is trained on two seconds, and writes down others."""

import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

config = WhisperConfig(
    d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6
)
model = WhisperForConditionalGeneration(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for _ in range(3):
    sounds = torch.randn(2, 80, 3000, device="cuda")
    model(input_features=sounds, labels=torch.randint(0, 50000, (2, 40)).cuda()).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
model.eval()
made = model.generate(torch.randn(2, 80, 3000, device="cuda"), max_new_tokens=20)
print("words", made.shape[1], "peak", torch.cuda.max_memory_allocated())
