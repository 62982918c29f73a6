"""Operations whose answers a program reads: they end, and their sizes are those of their kind."""

import torch

x = torch.randn(64, 50).cuda()
words = torch.zeros(4, 1, dtype=torch.long).cuda()

for _ in range(20):  # as a loop that generates words
    logits = torch.randn(4, 50, device="cuda").softmax(-1)
    top, places = logits.topk(10)
    assert top.shape == places.shape == (4, 10)
    ordered, order = logits.sort(descending=True)
    kept = ordered.cumsum(-1) < 0.9
    chosen = torch.multinomial(logits.masked_fill(~kept, 0), 1)
    words = torch.cat([words, chosen], dim=1)
    if bool((chosen == 3).all()):
        break
print("generated", tuple(words.shape), "item", x.sum().item(), "any", bool((x > 0).any()))

assert x.nonzero().shape[1] == 2
assert torch.unique(words).dim() == 1
values, inverse, counts = torch.unique(words, return_inverse=True, return_counts=True)
assert inverse.shape == words.shape and values.shape == counts.shape
assert x.masked_select(x > 0).dim() == 1
assert x[x > 0].dim() == 1
assert torch.where(x > 0)[0].dim() == 1
x[torch.arange(4, device="cuda"), torch.arange(4, device="cuda")] = 1.0
x.index_put_((torch.tensor([1, 2]).cuda(), torch.tensor([3, 4]).cuda()), torch.ones(2, device="cuda"), accumulate=True)
x.index_add_(0, torch.tensor([0, 1]).cuda(), torch.ones(2, 50, device="cuda"))
x.scatter_add_(0, torch.zeros(1, 50, dtype=torch.long, device="cuda"), torch.ones(1, 50, device="cuda"))
assert x.median().dim() == 0 and x.kthvalue(3).values.shape == (64,)
assert x.argsort(dim=0).shape == x.argmax(dim=1, keepdim=True).expand(-1, 50).shape
assert x.repeat_interleave(3, dim=0).shape == (192, 50)

# What the program copied to the device is known when it reads it.
times = torch.tensor([1, 2, 3]).cuda()
assert times.tolist() == [1, 2, 3], times.tolist()
repeated = torch.repeat_interleave(torch.arange(3, device="cuda"), torch.tensor([1, 2, 3]).cuda(), output_size=6)
assert repeated.shape == (6,)
print(
    "repeat_interleave without its size:", tuple(torch.repeat_interleave(torch.arange(3, device="cuda"), times).shape)
)
assert torch.full((3,), 7.0).cuda().cpu().tolist() == [7.0] * 3
assert torch.histc(x, 10).shape == (10,) and torch.bincount(words.flatten(), minlength=9).numel() >= 9
assert torch.randperm(1000, device="cuda").shape == (1000,) and torch.randperm(100000, device="cuda").shape == (100000,)
assert torch.isfinite(x).all().dim() == 0
assert torch.nn.functional.one_hot(words, 50).shape == (*words.shape, 50)
print("peak", torch.cuda.max_memory_allocated())
