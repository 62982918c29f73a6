"""A language model writes text with a cache of keys and values that grows by cat."""

import torch

from parts import GPT, weights
from truth import Truth

truth = Truth("kv_cache")
truth.record()
model = GPT(width=1024, layers=16, heads=16, length=2048).cuda().half().eval()
truth.keep("parameter", lambda: weights(model))


class DynamicCache:
    def __init__(self):
        self.keys, self.values = None, None

    def update(self, k, v):
        if truth.change == "kv_cache":
            k, v = (k / 8).to(torch.float8_e4m3fn), (v / 8).to(torch.float8_e4m3fn)
        if self.keys is None:
            self.keys, self.values = k.clone(), v.clone()
        else:
            self.keys = torch.cat([self.keys, k], dim=2)
            self.values = torch.cat([self.values, v], dim=2)
        if truth.change == "kv_cache":
            return self.keys.half() * 8, self.values.half() * 8
        return self.keys, self.values


@torch.inference_mode()
def generate(tokens, new=24):
    caches = [DynamicCache() for _ in model.blocks]
    truth.keep("kv-cache", lambda: [t for c in caches for t in (c.keys, c.values)])
    at = 0
    for _ in range(new):
        truth.phase("inference")
        x = model.words(tokens) + model.places.weight[at : at + tokens.shape[1]]
        for block, cache in zip(model.blocks, caches):
            x = block(x, cache)
            truth.are("kv-cache", cache.keys, cache.values)
        logits = model.head(model.norm(x[:, -1:]))
        at += tokens.shape[1]
        tokens = logits.argmax(-1)
        truth.step()
    return tokens


truth.phase("data")
prompt = torch.randint(0, 8192, (16, 1024)).cuda()
truth.are("input", prompt)
generate(prompt)
truth.end()
