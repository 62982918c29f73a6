"""Training steps of GPT-2 124M in PyTorch, as bench engine takes them: the same
model, batch and optimizer, random tokens, with --amp on a GPU a vocabulary of round
size, no step that waits for the GPU, and one JSON object on standard output."""

import argparse
import json
import math
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

VOCAB, WIDTH, HEADS = 50257, 768, 12
ROUND = 64  # what the rows of a padded head are a multiple of, as in our engine
WARM = 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        split = self.qkv(self.before_attention(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.before_mlp(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, layers, length, again, classes=VOCAB):
        super().__init__()
        self.token = nn.Embedding(classes, WIDTH)
        self.place = nn.Embedding(length, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.last = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, classes, bias=False)
        self.head.weight = self.token.weight
        self.again = again
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, targets):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return F.cross_entropy(self.head(self.last(x)).flatten(0, 1), targets.flatten())


def classes_of(options):
    """Rows of the head: more than there are tokens where odd sizes are slow."""
    padded = options.device.startswith("cuda") and options.amp != "off"
    return -(-VOCAB // ROUND) * ROUND if padded else VOCAB


class Clock:
    """Times of steps. On a GPU they are the GPU's own: reading them waits for it once,
    when all steps are queued."""

    def __init__(self, device):
        self.device = device if device.type == "cuda" else None
        self.marks = []

    def mark(self):
        if self.device is None:
            self.marks.append(time.perf_counter())
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self.device))
        self.marks.append(event)

    def seconds(self):
        pairs = list(zip(self.marks, self.marks[1:]))
        if self.device is None:
            return sorted(after - before for before, after in pairs)
        torch.cuda.synchronize(self.device)
        return sorted(before.elapsed_time(after) / 1e3 for before, after in pairs)


def measure(options, compiled):
    device = torch.device(options.device)
    on_gpu = device.type == "cuda"
    torch.manual_seed(1)
    model = GPT(options.layers, options.length, options.checkpoint == "block", classes_of(options)).to(device)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=on_gpu)
    cast = torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.amp == "bf16")
    clock = Clock(device)
    loss = None
    for step in range(WARM + options.steps):
        if step == WARM:
            if on_gpu:
                torch.cuda.reset_peak_memory_stats(device)
            clock.mark()
        ids, targets = torch.randint(VOCAB, (2, options.batch, options.length), device=device)
        with cast:
            loss = run(ids, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step >= WARM:
            clock.mark()
    times = clock.seconds()
    median = times[len(times) // 2]
    peak = torch.cuda.max_memory_allocated(device) if on_gpu else 0
    reserved = torch.cuda.max_memory_reserved(device) if on_gpu else 0
    assert math.isfinite(loss.item())
    return {
        "median_ns": int(median * 1e9),
        "tokens_per_second": int(options.batch * options.length / median),
        "tokens": options.batch * options.length,
        "classes": classes_of(options),
        "peak_allocated_bytes": peak,
        "peak_reserved_bytes": reserved,
    }


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--device", default="cuda:0")
    flags.add_argument("--layers", type=int, default=12)
    flags.add_argument("--batch", type=int, default=16)
    flags.add_argument("--length", type=int, default=1024)
    flags.add_argument("--steps", type=int, default=20)
    flags.add_argument("--amp", choices=["off", "bf16"], default="off")
    flags.add_argument("--checkpoint", choices=["none", "block"], default="none")
    flags.add_argument("--compile", action="store_true")
    options = flags.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps({"torch": torch.__version__, **measure(options, options.compile)}))


if __name__ == "__main__":
    main()
