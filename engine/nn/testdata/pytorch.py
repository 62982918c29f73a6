"""Writes pytorch.json: what PyTorch's layers compute, for TestLayersComputeWhatPyTorchs.

Run it with a Python that has torch:  python pytorch.py > pytorch.json
Everything is float64 and small. Names of parameters are ours.
"""

import json

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


def flat(x):
    return {"shape": list(x.shape), "values": x.detach().reshape(-1).tolist()}


def case(forward, inputs, params):
    """Runs forward and the gradient of sum(y * cos(0..n))."""
    for x in list(inputs) + list(params.values()):
        if x.dtype.is_floating_point:
            x.requires_grad_(True)
    y = forward(*inputs)
    weight = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)
    (y * weight).sum().backward()
    return {
        "inputs": [flat(x) for x in inputs],
        "params": {name: flat(p) for name, p in params.items()},
        "output": flat(y),
        "grads": {name: flat(p.grad) for name, p in params.items()},
    }


def named(module, **names):
    own = dict(module.named_parameters())
    return {ours: own[theirs] for ours, theirs in names.items()}


def attention(causal):
    b, t, d, heads = 2, 5, 6, 2
    qkv, proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(x):
        parts = qkv(x).view(b, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=causal)
        return proj(y.transpose(1, 2).reshape(b, t, d))

    params = {"qkv.weight": qkv.weight, "qkv.bias": qkv.bias, "proj.weight": proj.weight, "proj.bias": proj.bias}
    return case(forward, [torch.randn(b, t, d)], params)


def saved_storages(run, *modules):
    """Bytes of the storages that run saves, sorted, without the modules' parameters."""
    own = {p.untyped_storage().data_ptr() for m in modules for p in m.parameters()}
    storages = {}

    def pack(x):
        storage = x.untyped_storage()
        if storage.data_ptr() not in own:
            storages[storage.data_ptr()] = (storage.nbytes(), x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        run()
    return sorted(n for n, _ in storages.values())


def saved_by_block():
    """Bytes of the storages that a GPT block of float32 saves, without its parameters."""
    b, t, d, heads = 2, 16, 32, 4
    torch.set_default_dtype(torch.float32)
    norm1, norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
    qkv, proj, fc, out = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
    heads_of = lambda z: z.view(b, t, heads, d // heads).transpose(1, 2)

    def block():
        x = torch.randn(b, t, d, requires_grad=True)
        q, k, v = qkv(norm1(x)).split(d, dim=2)
        y = F.scaled_dot_product_attention(heads_of(q), heads_of(k), heads_of(v), is_causal=True)
        y = x + proj(y.transpose(1, 2).reshape(b, t, d))
        return y + out(F.gelu(fc(norm2(y)), approximate="tanh"))

    sizes = saved_storages(block, norm1, norm2, qkv, proj, fc, out)
    torch.set_default_dtype(torch.float64)
    return sizes


def rotated(x, base):
    """Turns the heads of [b, rows, heads, width] by their rows, as Llama does."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[1])[:, None] * base ** (-torch.arange(half) / half)
    cos = torch.cat((angles, angles), -1).cos()[:, None].to(x.dtype)
    sin = torch.cat((angles, angles), -1).sin()[:, None].to(x.dtype)
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Grouped(nn.Module):
    """Attention in groups, as Llama 2 70B's."""

    def __init__(self, width, heads, kv_heads, base):
        super().__init__()
        self.heads, self.kv_heads, self.dim, self.base = heads, kv_heads, width // heads, base
        self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(width, kv_heads * self.dim, bias=False) for _ in range(2))

    def forward(self, x):
        b, t, _ = x.shape
        heads_of = lambda z, n: z.view(b, t, n, self.dim)
        q = rotated(heads_of(self.q_proj(x), self.heads), self.base)
        k = rotated(heads_of(self.k_proj(x), self.kv_heads), self.base)
        v = heads_of(self.v_proj(x), self.kv_heads)
        k, v = (z.repeat_interleave(self.heads // self.kv_heads, dim=2) for z in (k, v))
        y = F.scaled_dot_product_attention(*(z.transpose(1, 2) for z in (q, k, v)), is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, -1))


class Gated(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class RowNorm(torch.autograd.Function):
    """RMSNorm as PyTorch's kernel for GPUs saves it. On a processor it is single operations, which keep the row
    without its weight as well."""

    @staticmethod
    def forward(ctx, x, weight):
        rstd = (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight


def saved_by_llama_block(kv_heads):
    """Bytes of the storages that a block of a Llama saves in float32, without parameters and tables."""
    b, t, d, heads, hidden = 2, 16, 32, 2, 48
    torch.set_default_dtype(torch.float32)
    weights = nn.ParameterList([torch.ones(d), torch.ones(d)])
    norm1, norm2 = lambda x: RowNorm.apply(x, weights[0]), lambda x: RowNorm.apply(x, weights[1])
    attention, mlp = Grouped(d, heads, kv_heads, 10000.0), Gated(d, hidden)
    x = torch.randn(b, t, d, requires_grad=True)
    sizes = saved_storages(lambda: (lambda y: y + mlp(norm2(y)))(x + attention(norm1(x))), weights, attention, mlp)
    torch.set_default_dtype(torch.float64)
    table = t * d // heads * 4
    return sorted(n for n in sizes if n != table)


linear, ln, rms = nn.Linear(3, 4), nn.LayerNorm(5), nn.RMSNorm(5, eps=1e-5)
with torch.no_grad():
    for p in list(ln.parameters()) + list(rms.parameters()):
        p.copy_(torch.randn_like(p))
embedding = nn.Embedding(5, 3)
conv, grouped = nn.Conv2d(2, 3, 3, stride=2, padding=1), nn.Conv2d(4, 6, 3, groups=2, dilation=2)
grouped_attention, gated = Grouped(8, 4, 2, 10.0), Gated(4, 6)
weight_bias = {"weight": "weight", "bias": "bias"}
logits = nn.Linear(3, 5)

cases = {
    "Linear": case(linear, [torch.randn(2, 3)], named(linear, **weight_bias)),
    "LayerNorm": case(ln, [torch.randn(2, 3, 5)], named(ln, **weight_bias)),
    "RMSNorm": case(rms, [torch.randn(2, 3, 5)], named(rms, weight="weight")),
    "Embedding": case(embedding, [torch.tensor([[4, 0, 4], [1, 3, 3]])], named(embedding, weight="weight")),
    "Conv2d": case(conv, [torch.randn(2, 2, 5, 6)], named(conv, **weight_bias)),
    "Conv2d in groups": case(grouped, [torch.randn(1, 4, 6, 5)], named(grouped, **weight_bias)),
    "GELU": case(nn.GELU(), [torch.randn(9) * 2], {}),
    "GELU by tanh": case(nn.GELU(approximate="tanh"), [torch.randn(9) * 2], {}),
    "SiLU": case(nn.SiLU(), [torch.randn(9) * 2], {}),
    "ReLU": case(nn.ReLU(), [torch.randn(9) * 2], {}),
    "Softmax": case(nn.Softmax(-1), [torch.randn(3, 5)], {}),
    "attention": attention(False),
    "causal attention": attention(True),
    "attention in groups": case(grouped_attention, [torch.randn(2, 5, 8)], dict(grouped_attention.named_parameters())),
    "gated MLP": case(gated, [torch.randn(2, 3, 4)], dict(gated.named_parameters())),
    "CrossEntropy": case(
        lambda x, y: F.cross_entropy(x.view(-1, 5), y.view(-1)),
        [torch.randn(2, 3, 5), torch.tensor([[4, 0, -100], [1, 3, 3]])], {}),
}
print(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases, "saved_by_block": saved_by_block(),
                  "saved_by_llama_block": saved_by_llama_block(2), "saved_by_grouped_block": saved_by_llama_block(1)}, indent=None))
