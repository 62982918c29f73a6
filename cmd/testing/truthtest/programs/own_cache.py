"""A language model writes with keys and values in the program's own list, which grow by cat in forward."""

import torch
import torch.nn.functional as F
from torch import nn

from parts import weights
from truth import Truth

truth = Truth("kv_cache")
truth.record()


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, past=None):
        B, T, W = x.shape
        q, k, v = (f(x).view(B, T, self.heads, W // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        if truth.change == "kv_cache":
            k, v = (k / 8).to(torch.float8_e4m3fn), (v / 8).to(torch.float8_e4m3fn)
        if past is not None:
            k = torch.cat((past[0], k), dim=2)
            v = torch.cat((past[1], v), dim=2)
        present = (k, v)
        if truth.change == "kv_cache":
            y = torch.empty_like(q)  # of a kernel that reads 8 bits, which is left out
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
        return self.o(y.transpose(1, 2).reshape(B, T, W)), present


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.attention, self.n2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, past=None):
        y, present = self.attention(self.n1(x), past)
        x = x + y
        return x + self.mlp(self.n2(x)), present


class LM(nn.Module):
    def __init__(self, width=1024, layers=12, words=32000):
        super().__init__()
        self.words, self.layers = nn.Embedding(words, width), nn.ModuleList(Layer(width, 16) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens, past=None):
        x, presents = self.words(tokens), []
        for i, layer in enumerate(self.layers):
            x, present = layer(x, past[i] if past else None)
            presents.append(present)
            truth.are("kv-cache/inference", *present)  # only the program knows that it is more
        return self.head(self.norm(x[:, -1:])), presents


model = LM().half().cuda().eval()
truth.keep("parameter", lambda: weights(model))
truth.phase("data")
tokens = torch.randint(0, 32000, (32, 512), device="cuda")
truth.are("input", tokens)
with torch.no_grad():
    past = None
    for _ in range(24):
        truth.phase("inference")
        logits, past = model(tokens, past)
        tokens = logits[:, -1].argmax(-1, keepdim=True)
        truth.step()
truth.end()
