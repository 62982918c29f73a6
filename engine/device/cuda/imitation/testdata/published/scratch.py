"""GPT-2 124M written from scratch, and ten changes that make it train faster, one after the other."""

import argparse

import torch
from torch import nn
from torch.nn import functional

# What each change brings; a run has those up to its own.
MASK, TF32, FUSED, PINNED, BF16, NATIVE, FLASH, COMPILED, VOCABULARY, BATCH = range(1, 11)
CONTEXT, WIDTH, HEADS, LAYERS, DROPOUT = 1024, 768, 12, 12, 0.1
SAMPLES = 408  # of the novel that the publication trains on: 51 steps of 8 in an epoch


class Norm(nn.Module):
    """Layer normalisation of single operations."""

    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        normed = (x - mean) / torch.sqrt(variance + 1e-5)
        return self.scale * normed + self.shift


class Gelu(nn.Module):
    """GELU of single operations."""

    def forward(self, x):
        root = torch.sqrt(torch.tensor(2.0 / torch.pi))
        return 0.5 * x * (1 + torch.tanh(root * (x + 0.044715 * torch.pow(x, 3))))


class Attention(nn.Module):
    """Attention that keeps its scores."""

    def __init__(self, changes):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.on_the_fly = changes >= MASK
        if not self.on_the_fly:
            self.register_buffer("mask", torch.triu(torch.ones(CONTEXT, CONTEXT), diagonal=1))

    def hidden(self, tokens, device):
        if self.on_the_fly:
            return torch.triu(torch.ones(tokens, tokens, dtype=torch.bool, device=device), diagonal=1)
        return self.mask.bool()[:tokens, :tokens]

    def forward(self, x):
        batch, tokens, _ = x.shape
        keys, queries, values = self.key(x), self.query(x), self.value(x)
        keys = keys.view(batch, tokens, HEADS, -1)
        values = values.view(batch, tokens, HEADS, -1)
        queries = queries.view(batch, tokens, HEADS, -1)
        keys, queries, values = keys.transpose(1, 2), queries.transpose(1, 2), values.transpose(1, 2)
        scores = queries @ keys.transpose(2, 3)
        mask = self.hidden(tokens, x.device)
        scores.masked_fill_(mask, -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        context = (weights @ values).transpose(1, 2)
        context = context.reshape(batch, tokens, WIDTH)
        context = self.out(context)
        return context


class FusedAttention(nn.Module):
    """Attention by PyTorch's own kernels."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = self.qkv(x)
        qkv = qkv.view(batch, tokens, 3, HEADS, WIDTH // HEADS)
        qkv = qkv.permute(2, 0, 3, 1, 4)
        queries, keys, values = qkv
        dropout = DROPOUT if self.training else 0.0
        context = functional.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout, is_causal=True)
        context = context.transpose(1, 2).contiguous().view(batch, tokens, WIDTH)
        context = self.out(context)
        return context


class Block(nn.Module):
    """One layer of the transformer."""

    def __init__(self, changes):
        super().__init__()
        native = changes >= NATIVE
        norm = nn.LayerNorm if native else Norm
        self.attention = FusedAttention() if changes >= FLASH else Attention(changes)
        gelu = nn.GELU(approximate="tanh") if native else Gelu()
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), gelu, nn.Linear(4 * WIDTH, WIDTH))
        self.norm1, self.norm2 = norm(WIDTH), norm(WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.attention(x)
        x = self.dropout(x)
        x = x + shortcut
        shortcut = x
        x = self.norm2(x)
        x = self.feed(x)
        x = self.dropout(x)
        x = x + shortcut
        return x


class Model(nn.Module):
    """The whole model, whose head has weights of its own."""

    def __init__(self, changes):
        super().__init__()
        vocabulary = 50304 if changes >= VOCABULARY else 50257
        self.tokens = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.Sequential(*[Block(changes) for _ in range(LAYERS)])
        self.norm = (nn.LayerNorm if changes >= NATIVE else Norm)(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, indices):
        _, length = indices.shape
        tokens = self.tokens(indices)
        positions = self.positions(torch.arange(length, device=indices.device))
        x = tokens + positions
        x = self.dropout(x)
        x = self.blocks(x)
        x = self.norm(x)
        logits = self.head(x)
        return logits


def loss_of(model, batch):
    """The loss of a batch, which comes from the host."""
    inputs, targets = (torch.randint(50000, (batch, CONTEXT)) for _ in range(2))
    inputs, targets = inputs.cuda(), targets.cuda()
    logits = model(inputs)
    loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    return loss


def evaluate(model, batch):
    """One batch each of training and validation."""
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            loss_of(model, batch).item()
    model.train()


def generate(model):
    """Fifty tokens after the first four."""
    model.eval()
    indices = torch.randint(50000, (1, 4)).cuda()
    with torch.no_grad():
        for _ in range(50):
            cut = indices[:, -CONTEXT:]
            with torch.no_grad():
                logits = model(cut)
            logits = logits[:, -1, :]
            following = torch.argmax(logits, dim=-1, keepdim=True)
            indices = torch.cat((indices, following), dim=1)
    model.train()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=0, choices=range(11))
    changes = parser.parse_args().changes
    if changes >= TF32:
        torch.set_float32_matmul_precision("high")
    model = Model(changes)
    if changes >= COMPILED:
        model = torch.compile(model)
    model.cuda()
    if changes >= BF16:
        model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=5e-4, weight_decay=0.1, fused=True if changes >= FUSED else None
    )
    batch = 32 if changes >= BATCH else 8
    for step in range(SAMPLES // batch):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        if step % (10 if changes >= BATCH else 15) == 0:
            evaluate(model, batch)
    generate(model)
    print("measured allocated", torch.cuda.memory_allocated())
    print("measured reserved", torch.cuda.memory_reserved())


main()
