"""Falcon 7B as litgpt has it, with a head of its own weights: 256 tokens generated from a prompt of five."""

import argparse

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LAYERS, VOCABULARY, PROMPT, GENERATED = 4544, 71, 32, 65024, 5, 256
HEAD = WIDTH // HEADS


class Block(nn.Module):
    """A layer whose attention and MLP read the same, with one key and value for all heads."""

    def __init__(self, linear):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv, self.out = linear(WIDTH, (HEADS + 2) * HEAD, bias=False), linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = linear(WIDTH, 4 * WIDTH, bias=False), linear(4 * WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.zeros(1, 1, PROMPT + GENERATED, HEAD), persistent=False)
        self.register_buffer("values", torch.zeros(1, 1, PROMPT + GENERATED, HEAD), persistent=False)

    def attend(self, h, positions, mask):
        batch, tokens, _ = h.shape
        qkv = self.qkv(h).view(batch, tokens, HEADS + 2, HEAD).permute(0, 2, 1, 3)
        q, k, v = qkv.split((HEADS, 1, 1), dim=1)
        k, v = self.keys.index_copy_(2, positions, k), self.values.index_copy_(2, positions, v)
        k, v = k.expand(batch, HEADS, -1, HEAD), v.expand(batch, HEADS, -1, HEAD)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, WIDTH))

    def forward(self, x, positions, mask):
        h = self.norm(x)
        return self.down(functional.gelu(self.up(h))) + self.attend(h, positions, mask) + x


class Model(nn.Module):
    """The model with a mask for its longest context."""

    def __init__(self, linear):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList([Block(linear) for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = linear(WIDTH, VOCABULARY, bias=False)
        mask = torch.ones(2048, 2048, dtype=torch.bool).tril()
        self.register_buffer("mask", mask[None, None], persistent=False)

    def forward(self, indices, positions):
        mask = self.mask.index_select(2, positions)[:, :, :, : PROMPT + GENERATED]
        x = self.tokens(indices)
        for block in self.blocks:
            x = block(x, positions, mask)
        return self.head(self.norm(x))


def made(nf4):
    """The model on the GPU; with NF4 each layer is quantized as it comes there."""
    torch.set_default_dtype(torch.bfloat16)
    if not nf4:
        with torch.device("cuda"):
            return Model(nn.Linear)
    from bitsandbytes.nn import Linear4bit

    def linear(*arguments, **options):
        return Linear4bit(*arguments, **options, quant_type="nf4", compress_statistics=False)

    return Model(linear).to("cuda")


def generate(model):
    """Tokens one by one, each drawn from the 200 most likely."""
    indices, positions = torch.zeros(1, PROMPT, dtype=torch.int64, device="cuda"), torch.arange(PROMPT, device="cuda")
    for _ in range(GENERATED):
        logits = model(indices, positions)[0, -1]
        best, _ = torch.topk(logits, 200)
        logits = torch.where(logits < best[[-1]], -float("inf"), logits)
        indices = torch.multinomial(functional.softmax(logits, dim=-1), 1)[None]
        positions = positions[-1:] + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nf4", action="store_true")
    with torch.inference_mode():
        generate(made(parser.parse_args().nf4).eval())
    print("measured allocated", torch.cuda.max_memory_allocated())


main()
