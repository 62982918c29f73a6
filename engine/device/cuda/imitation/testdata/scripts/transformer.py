"""A small transformer is trained in every ordinary way, and a model too large does not fit."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

Scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)  # it moved with PyTorch 2.3
WIDTH, HEADS, LAYERS, TOKENS, WORDS, BATCH = 128, 4, 2, 64, 1000, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down, self.dropout = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(self.before(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + self.dropout(self.out(y.transpose(1, 2).flatten(2)))
        return x + self.dropout(self.down(F.gelu(self.up(self.between(x)))))


class Transformer(nn.Module):
    def __init__(self, checkpointed=False):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.checkpointed = checkpointed

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(self.norm(x))


def train(name, checkpointed=False, dtype=None, **adam):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model = Transformer(checkpointed).cuda()
    weights = sum(p.numel() * 4 for p in model.parameters())
    rounded = sum((p.numel() * 4 + 511) // 512 * 512 for p in model.parameters())
    assert torch.cuda.memory_allocated() - before == rounded, (torch.cuda.memory_allocated() - before, rounded)
    optimizer = torch.optim.AdamW(model.parameters(), **adam)
    scaler = Scaler(enabled=dtype == torch.float16)
    for _ in range(3):
        words = torch.randint(0, WORDS, (BATCH, TOKENS + 1)).cuda()
        with torch.autocast("cuda", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
    kept = sum(
        t.untyped_storage().nbytes()
        for s in optimizer.state.values()
        for t in s.values()
        if torch.is_tensor(t) and t.is_cuda and t.dim()
    )
    assert kept == 2 * weights, (kept, weights)
    peak = torch.cuda.max_memory_allocated() - before
    assert peak > 4 * weights
    print(f"{name}: peak {peak}, reserved {torch.cuda.max_memory_reserved()}")
    return peak


plain = train("fp32, foreach", foreach=True)
train("fp32, fused", fused=True)
train("bf16, fused", dtype=torch.bfloat16, fused=True)
train("fp16 with a scaler", dtype=torch.float16, foreach=True)
assert train("fp32, checkpointed", checkpointed=True, foreach=True) < plain

try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    print("does not fit:", str(error).split(".")[0])
else:
    raise AssertionError("a tebibyte fitted")
