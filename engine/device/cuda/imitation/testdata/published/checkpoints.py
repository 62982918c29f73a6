"""Transformers that recompute parts of themselves, measured one after the other in one process, as a notebook does."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, TOKENS, DEPTH, STEPS = 512, 4, 4096, 12, 10


class Block(nn.Module):
    """A layer, whose attention is asked for its weights unless it may be fused."""

    def __init__(self, fused):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.fused = fused

    def attend(self, x):
        h = self.norm1(x)
        return x + self.attention(h, h, h, need_weights=not self.fused)[0]

    def feed(self, x):
        h = self.norm2(x)
        return x + self.down(functional.relu(self.up(h)))


class Model(nn.Module):
    """Blocks of which some recompute their attention or their MLP."""

    def __init__(self, attention, mlp, recomputes=lambda index: index > 0, fused=False):
        super().__init__()
        self.blocks = nn.ModuleList([Block(fused).to(dtype=torch.bfloat16, device="cuda") for _ in range(DEPTH)])
        self.attention, self.mlp, self.recomputes = attention, mlp, recomputes

    def forward(self, x):
        for index, block in enumerate(self.blocks):
            chosen = self.recomputes(index)
            attention, mlp = chosen and self.attention, chosen and self.mlp
            x = checkpoint(block.attend, x, use_reentrant=False) if attention else block.attend(x)
            x = checkpoint(block.feed, x, use_reentrant=False) if mlp else block.feed(x)
        return x


def odd(index):
    return index % 2 == 1


def measure(name, model, x):
    """Ten steps, and the peak from before the first."""
    x = x.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    torch.cuda.reset_peak_memory_stats()
    for _ in range(STEPS):
        optimizer.zero_grad()
        out = model(x)
        loss = out.mean()
        loss.backward()
        optimizer.step()
    print("measured", name, torch.cuda.max_memory_allocated())


def fresh():
    return torch.randn(1, TOKENS, WIDTH, dtype=torch.bfloat16, device="cuda")


def main():
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_math_sdp(False)
    x = fresh()
    kept = [Model(False, False), Model(True, True), Model(False, True), Model(True, False)]
    for name, model in zip(["none", "all", "mlp", "attention"], kept):
        measure(name, model, x)
    x = fresh()
    kept += [Model(True, True), Model(True, True, odd)]
    for name, model in zip(["all-again", "other"], kept[4:]):
        measure(name, model, x)
    x = fresh()
    kept += [Model(True, True), Model(True, True, fused=True), Model(True, True, odd, fused=True)]
    for name, model in zip(["all-third", "flash", "flash-other"], kept[6:]):
        measure(name, model, x)


main()
