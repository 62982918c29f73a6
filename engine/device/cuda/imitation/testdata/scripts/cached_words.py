"""A small transformer generates words with a cache of keys and values, until a word that nothing computes or the end."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, WORDS, ROWS, MOST = 128, 4, 2, 1000, 4, 80


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cache):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return x + self.out(y.transpose(1, 2).flatten(2)), (k, v)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, words, caches):
        x = self.words(words)
        for n, layer in enumerate(self.layers):
            x, caches[n] = layer(x, caches[n])
        return self.head(x[:, -1])


model = Model().cuda().eval()
with torch.inference_mode():
    words = torch.ones(ROWS, 16, dtype=torch.long, device="cuda")
    caches, made = [None] * LAYERS, 0
    done = torch.zeros(ROWS, dtype=torch.bool, device="cuda")
    chosen = words
    while made < MOST:
        chosen = torch.multinomial(model(chosen, caches).softmax(-1), 1)
        words = torch.cat([words, chosen], dim=1)
        made += 1
        done |= chosen[:, 0] == 2
        if done.all():
            break
assert made == 64, made  # a condition is taken to hold once in so many times
assert caches[0][0].shape == (ROWS, HEADS, 16 + made - 1, WIDTH // HEADS)
print("words", words.shape[1], "peak", torch.cuda.max_memory_allocated())
