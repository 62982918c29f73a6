"""A network of tensors in a list, without a module, trained by an Adam written as functions on lists."""

import torch
import torch.nn.functional as F

from truth import Truth

truth = Truth()
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


def net(p, tokens):
    x = p["wte"][tokens] + p["wpe"][: tokens.shape[1]]
    B, T, _ = x.shape
    for i in range(L):
        h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * p[f"g{i}"]
        q, k, v = (h @ p[f"qkv{i}"]).view(B, T, 3, 8, D // 8).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2)) / (D // 8) ** 0.5
        a = a.masked_fill(torch.ones(T, T, device=device).triu(1).bool(), float("-inf")).softmax(-1)
        x = x + (a @ v).transpose(1, 2).reshape(B, T, D) @ p[f"o{i}"]
        x = x + torch.relu(x @ p[f"up{i}"] + p[f"b{i}"]) @ p[f"down{i}"]
    return x @ p["out"]


params = build()
truth.keep("parameter", lambda: params.values())
truth.keep("gradient", lambda: [p.grad for p in params.values()])
m = [torch.zeros_like(p) for p in params.values()]
v = [torch.zeros_like(p) for p in params.values()]
truth.are("optimizer", *m, *v)


@torch.no_grad()
def adam_update(params, m, v, lr=1e-3):
    for p, m_, v_ in zip(params, m, v):
        g = p.grad
        m_.mul_(0.9).add_(g, alpha=0.1)
        v_.mul_(0.999).addcmul_(g, g, value=0.001)
        p -= lr * m_ / (v_.sqrt() + 1e-8)
        p.grad = None


for _ in range(4):
    truth.phase("data")
    tokens = torch.randint(0, V, (16, 257)).to(device)
    x, y = tokens[:, :-1], tokens[:, 1:]
    truth.phase("forward")
    logits = net(params, x)
    loss = F.cross_entropy(logits.reshape(-1, V), y.reshape(-1))
    truth.phase("backward")
    loss.backward()
    truth.phase("step")
    adam_update(params.values(), m, v)
    truth.step()
truth.end()
