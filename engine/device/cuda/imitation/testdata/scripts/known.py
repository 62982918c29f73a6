"""What comes from the host, and what is computed from it alone, reads as on the processor: values, sizes and branches."""

import copy
import os

import torch

if not hasattr(torch.library, "get_kernel"):  # before PyTorch 2.9 only copies are known
    raise SystemExit

lengths = [3, 1, 2, 2, 0]


def programs(device):
    """Yield what a program reads from a device."""
    x = torch.tensor(lengths, device=device)
    mask = torch.ones(8, 1024, dtype=torch.long).to(device)
    yield "a mask of ones", bool(mask.bool().all()), mask.sum().item()
    yield "distinct", x.unique().tolist(), [v.tolist() for v in torch.unique(x, return_inverse=True, return_counts=True)]
    yield "distinct conditions", torch.unique(x > 0).tolist(), torch.unique(x > 7).tolist(), torch.unique(mask, dim=0).shape
    yield "consecutive", torch.unique_consecutive(x).tolist(), x.nonzero().tolist(), torch.where(x > 1)[0].tolist()
    yield "masks", x[x > 1].tolist(), x.masked_select(x == 2).tolist(), torch.zeros(5, 3, device=device)[x > 0].shape
    yield "ragged", torch.repeat_interleave(torch.arange(5, device=device), x).tolist(), [p.shape for p in mask[0].split(lengths + [1016])]
    yield "counts", torch.bincount(x).tolist(), torch.nn.functional.one_hot(x).shape, x.count_nonzero().item()
    yield "order", [v.tolist() for v in torch.sort(x, descending=True)], x.argsort().tolist(), torch.topk(x, 2)[0].tolist()
    yield "experts", [(torch.arange(8, device=device) % 4 == e).nonzero().flatten().tolist() for e in range(4)]
    yield "sums", x.cumsum(0).tolist(), x.max().item(), x.min().item(), x.float().mean().item(), (x.sum() / 2).item()
    yield "types", [str(y.dtype) for y in (x + 1, x * 2.5, x.int()[0] + 1, x.half()[0] * 2.0, x / 2, (x > 1) * 3, 1 - x.int())]
    y = x.clone()
    y += 1
    y[2] = 9
    y[3:].zero_()
    yield "in place", y.tolist(), x.tolist(), y.view(5, 1).squeeze(1)[1:3].tolist(), torch.equal(x, x.clone()), torch.equal(x, y)
    steps = torch.tensor([1.0, 2.0], device=device)
    torch._foreach_add_([steps], 1.0)
    steps.data.mul_(2)
    yield "of a copied storage", [copy.deepcopy(steps).tolist(), steps.tolist()]
    torch.ops.aten.add_.Scalar(y, 1)
    y.index_put_((x,), x, accumulate=True)
    yield "counters", steps.tolist(), torch.cat([x, y]).tolist(), torch.stack([x, y]).amax(0).tolist()
    with torch.inference_mode():
        going = torch.ones(3, dtype=torch.long, device=device)
        going = going & torch.tensor([0, 1, 0], device=device)
        position = torch.tensor([5], device=device)
        position += 1
        drawn = torch.ones(3, device=device).uniform_(0, 0)
        inference = going.max().item(), position.item(), bool((going == 0).all()), drawn.sum().item()
    yield "inference", inference
    resumed = torch.tensor(7.0).to(device)
    resumed += 1
    yield "a step that is resumed", 0.9 ** resumed.item(), resumed.to(torch.int32).cpu().numpy().tolist()
    table = torch.zeros(10, dtype=torch.bool, device=device)
    table[x] = True
    yield "a table", table.tolist(), torch.where(table, 2, 1).sum().item(), table.nonzero().shape
    yield "sampled lengths", [n for n in x.tolist() for _ in range(n)], torch.searchsorted(x.sort()[0], x).tolist()


def sizes(device):
    """Yield sizes that depend on values, each of another kind."""
    drawn = torch.randint(1, 9, (6,), generator=torch.Generator().manual_seed(0)).to(device)
    words = torch.arange(48, device=device).view(6, 8)
    mask = words % 8 < drawn[:, None]
    experts = torch.tensor([[0, 2], [1, 2], [2, 0], [3, 1], [0, 1], [2, 3]], device=device)
    rows = torch.randn(48, 4).to(device).view(6, 8, 4)
    yield "a mask", rows[mask].shape
    yield "its opposite", rows[~mask].shape, rows[mask & (words > 9)].shape
    yield "masked_select", words.masked_select(mask).shape
    yield "nonzero", mask.nonzero().shape, torch.argwhere(words > 40).shape
    yield "where", [places.shape for places in torch.where(mask)]
    yield "assignment", words.masked_fill(mask, 0).unique().shape
    words[mask] = torch.arange(int(mask.sum()), device=device)
    yield "assignment of rows", words[words > 20].shape
    yield "unique", (drawn % 5).unique().shape, torch.unique(experts, dim=0).shape
    yield "unique_consecutive", torch.unique_consecutive(drawn // 3).shape
    yield "experts of a table", [rows[(experts == e).any(-1)].shape for e in range(4)]
    order = experts.flatten().argsort(stable=True)
    groups = torch.bincount(experts.flatten(), minlength=5)
    yield "experts in order", [part.shape for part in rows[order // 2].split(groups.tolist())]
    capacity = int(groups.max())
    yield "capacity of experts", torch.zeros(4, capacity, 4, device=device).shape
    one_hot = torch.nn.functional.one_hot(experts).sum(1)
    yield "one_hot", one_hot.shape, [one_hot[:, e].nonzero().shape for e in range(4)]
    yield "sampled lengths", [torch.zeros(n, device=device).shape for n in drawn.tolist()]
    yield "padded to the longest", rows[:, : drawn.max()].shape, torch.nn.functional.pad(rows, (0, 0, 0, int(drawn.max()))).shape
    yield "pad_sequence", torch.nn.utils.rnn.pad_sequence([row[:n] for row, n in zip(rows, drawn)]).shape
    packed = torch.nn.utils.rnn.pack_padded_sequence(rows, drawn.cpu(), batch_first=True, enforce_sorted=False)
    yield "packed", packed.data.shape, packed.batch_sizes.tolist()
    ends = torch.nn.functional.pad(drawn.cumsum(0), (1, 0))
    yield "ends of documents", ends.tolist(), rows.view(48, 4)[: ends[-1]].shape, ends.diff().max().item()
    yield "tensor_split", [part.shape for part in torch.tensor_split(rows.view(48, 4), ends.cpu())]
    yield "repeat_interleave", torch.repeat_interleave(drawn).shape, rows.repeat_interleave(drawn, 0).shape
    yield "bincount", drawn.bincount().shape, torch.bincount(drawn * 7, minlength=3).shape
    yield "topk", words[:, drawn.topk(2)[1]].shape, rows[drawn.topk(3)[0] % 6].unique(dim=0).shape[1:]
    yield "a threshold", rows[drawn >= drawn.float().mean()].shape, rows[drawn > drawn.median()].shape
    yield "isin", rows[torch.isin(drawn, drawn[:2])].shape
    yield "a range to a value", torch.arange(int(drawn.sum()), device=device).shape
    yield "searchsorted", words[: torch.searchsorted(drawn.cumsum(0), 9)].shape
    jagged = torch.nested.nested_tensor_from_jagged(rows.view(48, 4)[: int(ends[-1])], ends)
    yield "jagged", [part.shape for part in jagged.unbind()], jagged.to_padded_tensor(0.0).shape
    nested = torch.nested.nested_tensor([row[:n] for row, n in zip(rows, drawn.tolist())])
    yield "nested", nested.to_padded_tensor(0.0).shape
    while drawn.sum() > 9:
        drawn = drawn // 2
    yield "a loop", drawn.shape, rows[drawn > 0].shape
    empty = torch.empty(4, dtype=torch.long, device=device)
    empty.copy_(drawn[:4])
    yield "copied", rows[:4][empty > 0].shape, rows[:4][empty.flip(0).cummax(0)[0] > 1].shape


for kinds in (programs, sizes):
    for host, device in zip(kinds("cpu"), kinds("cuda")):
        assert host == device, f"{host} is {device} on the device"

weights = torch.randn(1 << 20, device="cuda")
made = torch.distributions.Normal(weights[:9], weights[:9]).sample(), torch.distributions.Categorical(logits=weights[:9]).sample()
assert made[0].shape == (9,) and made[1].dim() == 0 and torch.linalg.eig(weights[:9].view(3, 3))[0].shape == (3,)
assert torch.isfinite(weights).all() and not torch.isnan(weights).any() and not weights.isinf().any()

# What is not known is no value from before: of other memory, of other kernels.
spoiled = torch.tensor([64] * 64).cuda()
spoiled.random_()
assert spoiled.sum().item() == 0 and spoiled.nonzero().shape[0] == 0


def written(x):
    """Yield tensors that something has written to, which is not repeated on the processor."""
    with torch.inference_mode():
        yield torch.arange(4, device="cuda").float().exp_()
        yield torch.sin(x, out=torch.ones(4, device="cuda"))
    known = torch.ones(4, device="cuda")
    known.data.exp_()
    yield known
    known = torch.ones(4, device="cuda")
    torch.empty(0, device="cuda").set_(known.untyped_storage()).exp_()
    yield known
    layer = torch.nn.BatchNorm1d(4).cuda()
    layer(torch.randn(8, 4, device="cuda"))
    yield layer.running_var
    increase(known := torch.ones(4, device="cuda"))
    yield known
    count, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        count += 1
    count.fill_(5)
    graph.replay()
    yield count


@torch.library.custom_op("known::increase", mutates_args=("x",))
def increase(x: torch.Tensor) -> None:
    """Write to a tensor as a kernel of another library."""


for x in written(torch.randn(4, device="cuda")):
    assert x.sum().item() == 0, x.tolist()
place = torch.tensor([1 << 20] * 64).cuda().data_ptr()
drawn = torch.empty(64, dtype=torch.long, device="cuda")
assert drawn.data_ptr() == place and drawn.sum().item() == 0 and drawn.tolist() == [0] * 64
labels = torch.randint(2, (1 << 20,)).cuda()
assert labels.min() >= 0 and labels.max() == 1, "labels of pictures are not known"


def requests(uses):
    """Return how many requests a tensor with so many uses makes."""
    before, x = torch.cuda.memory_stats()["allocation.all.allocated"], weights.requires_grad_() * 2
    sum((x * n).sum() for n in range(uses)).backward()
    return torch.cuda.memory_stats()["allocation.all.allocated"] - before


made = [requests(uses) for uses in (1, 2, 3, 4, 5)][1:]
assert made[1] - made[0] == made[2] - made[1] == made[3] - made[2], f"{made}: gradients are added in place"
print("known", len(lengths), "in", os.path.basename(__file__))
