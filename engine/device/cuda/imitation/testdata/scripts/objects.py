"""Ranks send each other Python objects: they come as they were sent, and from a rank that does not run as one's own."""

import json
import os

import torch
import torch.distributed as dist

alone = json.loads(os.environ["MEMTOP_REHEARSAL"])["world"] > 0
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()


def of(sender):
    return rank if alone else sender


gathered = [None] * world
dist.all_gather_object(gathered, {"rank": rank, "text": "x" * 100_000 * (of(rank) + 1)})
assert [g["rank"] for g in gathered] == [of(r) for r in range(world)], gathered
assert [len(g["text"]) for g in gathered] == [100_000 * (of(r) + 1) for r in range(world)]
if hasattr(dist, "gather_object"):
    to_first = [None] * world if rank == 0 else None
    dist.gather_object(("of", rank), to_first, dst=0)
    assert to_first is None or to_first == [("of", of(r)) for r in range(world)], to_first
sent = [{"one": rank}, [rank]]
dist.broadcast_object_list(sent, src=0)
assert sent == [{"one": of(0)}, [of(0)]], sent
part = [None]
dist.scatter_object_list(part, [f"for {r}" for r in range(world)], src=0)
assert part == [f"for {rank}"], part
if not alone:
    passed = [{"from": rank}, "x" * 1000]
    if rank == 0 and hasattr(dist, "send_object_list"):
        dist.send_object_list(passed, dst=1)
    elif rank == 1 and hasattr(dist, "recv_object_list"):
        dist.recv_object_list(passed, src=0)
        assert passed == [{"from": 0}, "x" * 1000], passed
    by_host = dist.ProcessGroupGloo(dist.PrefixStore("bare", dist.distributed_c10d._get_default_store()), rank, world)
    dist.all_gather_object(gathered, rank, group=by_host)
    assert gathered == list(range(world)), gathered
count = torch.tensor([3], device="cuda")
dist.all_reduce(count)
print("rank", rank, "peak", torch.cuda.max_memory_allocated())
dist.destroy_process_group()
