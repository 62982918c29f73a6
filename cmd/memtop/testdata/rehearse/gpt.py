"""A small language model that trains on a GPU: what rehearsals are tested with."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--width", type=int, default=256)
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--save", default="")
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--autocast", choices=["step", "forward", "off"], default="step")
options = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return checkpoint(self.compute, x, use_reentrant=False) if options.checkpoint else self.compute(x)

    def compute(self, x):
        batch, length, width = x.shape
        q, k, v = self.attention(self.norm(x)).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.after(x))))


tokens, length = 4096, 256
model = nn.Sequential(nn.Embedding(tokens, options.width), *[Block(options.width) for _ in range(4)], nn.Linear(options.width, tokens)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(options.steps):
    x = torch.randint(0, tokens, (options.batch, length)).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.autocast == "step"):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.autocast != "off"):
            guessed = model(x)
        guessed = guessed.float() if options.autocast == "forward" else guessed
        loss = F.cross_entropy(guessed.flatten(0, 1), x.flatten())
        del guessed
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peaks", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
if options.save:
    torch.save(model.state_dict(), options.save)
