"""A mesh of two dimensions gathers as many parts as each of its groups has ranks, a sum over ranks is what all sent, and a
barrier waits for all ranks."""

import os
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
mesh = init_device_mesh("cuda", (2, 1), mesh_dim_names=("copies", "parts"))
own = torch.ones(4, device="cuda")
for name, ranks in {"copies": 2, "parts": 1}.items():
    group = mesh[name].get_group()
    assert dist.get_world_size(group) == ranks
    dist.all_gather_into_tensor(torch.empty(4 * ranks, device="cuda"), own, group=group)
    dist.reduce_scatter_tensor(torch.empty(4 // ranks, device="cuda"), own, group=group)
alone = dist.new_group([rank], use_local_synchronization=True)
dist.all_gather_into_tensor(torch.empty(4, device="cuda"), own, group=alone)
total = torch.tensor([3], device="cuda")
dist.all_reduce(total)
assert int(total) == (6 if hasattr(torch.library, "get_kernel") else 0), total

store = dist.distributed_c10d._get_default_store()
path = os.path.join(tempfile.gettempdir(), f"memtop-barrier-{os.environ['MASTER_PORT']}")
if rank == 0:
    store.wait(["coming"])
    torch.save(torch.zeros(1 << 22), path)
else:
    store.set("coming", "1")
dist.barrier()
assert os.path.exists(path), "the barrier did not wait"
dist.barrier(None, False, [rank])
if rank == 0:
    os.unlink(path)
