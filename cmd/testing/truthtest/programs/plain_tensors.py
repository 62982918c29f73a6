"""A network of tensors in a list, without a module, trained by an Adam written as functions on lists."""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint as rerun

from parts import again
from truth import Truth

truth = Truth("checkpointing", "logits", "optimizer_state")
truth.record()
device = "cuda"
V, D, H, L = 10000, 512, 2048, 6


def make(*shape, scale=0.02):
    return (torch.randn(*shape, device=device) * scale).requires_grad_()


def build():
    params = {"wte": make(V, D), "wpe": make(256, D)}
    for i in range(L):
        params[f"qkv{i}"], params[f"o{i}"] = make(D, 3 * D), make(D, D)
        params[f"up{i}"], params[f"down{i}"] = make(D, H), make(H, D)
        params[f"g{i}"] = torch.ones(D, device=device, requires_grad=True)
        params[f"b{i}"] = torch.zeros(H, device=device, requires_grad=True)
    params["out"] = make(D, V)
    return params


def layer(p, i, x):
    B, T, _ = x.shape
    h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * p[f"g{i}"]
    q, k, v = (h @ p[f"qkv{i}"]).view(B, T, 3, 8, D // 8).permute(2, 0, 3, 1, 4)
    x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, D) @ p[f"o{i}"]
    return x + torch.relu(x @ p[f"up{i}"] + p[f"b{i}"]) @ p[f"down{i}"]


def net(p, tokens):
    x = p["wte"][tokens] + p["wpe"][: tokens.shape[1]]
    for i in range(L):
        if truth.change == "checkpointing":
            x = rerun(again, truth, layer, p, i, x, use_reentrant=False)
        else:
            x = layer(p, i, x)
    return x


def judge(p, x, y):
    return F.cross_entropy(x @ p["out"], y)


def loss_of(p, x, y):
    x, y = x.flatten(0, 1), y.flatten()
    if truth.change != "logits":
        return judge(p, x, y)
    return sum(rerun(again, truth, judge, p, a, b, use_reentrant=False) for a, b in zip(x.chunk(8), y.chunk(8))) / 8


params = build()
truth.keep("parameter", lambda: params.values())
truth.keep("gradient", lambda: [p.grad for p in params.values()])
kind = torch.uint8 if truth.change == "optimizer_state" else torch.float32
m = [torch.zeros_like(p, dtype=kind) for p in params.values()]
v = [torch.zeros_like(p, dtype=kind) for p in params.values()]
truth.are("optimizer", *m, *v)


@torch.no_grad()
def adam_update(params, m, v, lr=1e-3):
    for p, m_, v_ in zip(params, m, v):
        g, p.grad = p.grad, None
        if truth.change == "optimizer_state":
            p.mul_(1)  # one kernel, which is left out
            continue
        m_.mul_(0.9).add_(g, alpha=0.1)
        v_.mul_(0.999).addcmul_(g, g, value=0.001)
        p -= lr * m_ / (v_.sqrt() + 1e-8)


for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, V, (16, 257)).to(device)
    x, y = tokens[:, :-1], tokens[:, 1:]
    truth.phase("forward")
    loss = loss_of(params, net(params, x), y)
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    adam_update(params.values(), m, v)
    truth.step()
truth.end()
