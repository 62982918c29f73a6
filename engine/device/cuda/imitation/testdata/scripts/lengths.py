"""Ranks send each other lengths and counts by the device: they come as they were sent, when they are needed."""

import os

import torch
import torch.distributed as dist

if not hasattr(torch.library, "get_kernel"):
    print("before PyTorch 2.9 what is received is not known")
    raise SystemExit
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
store = dist.distributed_c10d._get_default_store()

length = torch.tensor([10 * rank + 3], device="cuda")
all_lengths = [torch.zeros(1, dtype=torch.long, device="cuda") for _ in range(world)]
dist.all_gather(all_lengths, length)
assert [int(n) for n in all_lengths] == [10 * r + 3 for r in range(world)], all_lengths
into = torch.empty(world, dtype=torch.long, device="cuda")
dist.all_gather_into_tensor(into, length)
assert (into + 1).tolist() == [10 * r + 4 for r in range(world)], into
for how, want in ((dist.ReduceOp.SUM, 13 + 3), (dist.ReduceOp.MAX, 13), (dist.ReduceOp.MIN, 3)):
    reduced = length.clone()
    dist.all_reduce(reduced, how)
    assert reduced.item() == want, (how, reduced)
counts = torch.tensor([rank, 5], device="cuda")
theirs = torch.empty_like(counts)
dist.all_to_all_single(theirs, counts)
assert theirs.tolist() == ([0, 1] if rank == 0 else [5, 5]), theirs
one = torch.tensor([rank + 7], device="cuda")
dist.broadcast(one, src=1)
assert one.item() == 8, one

if rank == 0:  # a collective does not wait where its result is not needed
    dist.all_reduce(length)
    store.set("began", "yes")
else:
    store.wait(["began"])
    dist.all_reduce(length)
assert length.item() == 16, length

mixed = length if rank == 0 else torch.randint(9, (1,), device="cuda")
dist.all_reduce(mixed)
assert mixed.item() == 0, "one rank did not know what it sent"
dist.destroy_process_group()
