"""Sizes that depend on data are the largest that they can be, with --values upper.

A comment gives the value that --set says for its line.
"""

import torch

x = torch.randn(64, 50, device="cuda")
mask = x > 0
words = torch.randint(50, (4, 30), device="cuda")


def at_most(name, got, want):
    assert tuple(got) == want, f"{name}: {tuple(got)}, not {want}"


if hasattr(torch.library, "get_kernel"):  # since PyTorch 2.9 there is a way to all of them
    at_most("unique", torch.unique(words).shape, (120,))
    values, inverse, counts = torch.unique(words, return_inverse=True, return_counts=True)
    at_most("unique with counts", values.shape + inverse.shape + counts.shape, (120, 4, 30, 120))
    at_most("unique rows", torch.unique(x, dim=0).shape, (64, 50))
    at_most("unique of conditions", torch.unique(mask).shape, (2,))
    at_most("consecutive", torch.unique_consecutive(words).shape, (120,))
    assert x.argmax().item() == 7  # --set 7
    assert x.sum().item() == 2.5  # --set 2.5
    assert words.max().item() == 0
at_most("nonzero", x.nonzero().shape, (3200, 2))
at_most("where", torch.where(mask)[0].shape, (3200,))
at_most("a mask", x[mask].shape, (3200,))
at_most("a mask of rows", x[mask[:, 0]].shape, (64, 50))
at_most("masked_select", x.masked_select(mask).shape, (3200,))
at_most("nothing", x[:0].nonzero().shape, (0, 2))
with torch.inference_mode():
    at_most("inference", x[mask].shape, (3200,))
x[mask] = 0.0
x[mask] = torch.zeros(3200, device="cuda")
weights = torch.randn(64, 50, device="cuda", requires_grad=True)
weights[mask].square().sum().backward()
at_most("a gradient", weights.grad.shape, (64, 50))
at_most("as it is set", mask.nonzero().shape, (5, 2))  # --set 5
assert mask.any().item()  # --set true
at_most("several as they are set", words[0, :3].tolist(), (9, 9, 9))  # --set 9
known = torch.tensor([4, 5], device="cuda")
assert known.tolist() == [4, 5]
print("peak", torch.cuda.max_memory_allocated())
