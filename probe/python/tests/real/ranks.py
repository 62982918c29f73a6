"""One of several ranks that train together: it checks its agent's numbers with counts of its own, and fails if they
differ."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import torch  # noqa: E402
from counting import Counting, train  # noqa: E402
from subjects import Subject, gpt  # noqa: E402
from test_categories import AT, Asking  # noqa: E402

from memtop.journal import Journal  # noqa: E402
from memtop.watch import Watch  # noqa: E402


def make() -> Subject:
    subject = gpt()
    subject.model = torch.nn.parallel.DistributedDataParallel(subject.model)
    return subject


def main() -> None:
    torch.distributed.init_process_group("gloo")
    rank: Any = torch.distributed.get_rank()
    counting = Counting()
    alone = train(make, AT, AT, counting)
    gc.collect()
    watch = Watch(Journal())
    watch.sampling.always = True
    asking = Asking(watch)
    watch.want(True)
    watched = train(make, AT, AT, asking)
    for moment, counted in (("forward", counting.count.forward), ("after", counting.count.after)):
        says = {name: asking.says[moment].get(name, 0) for name in counted}
        if says != counted:
            sys.exit(f"rank {rank}, {moment}: the agent says {says}, counted were {counted}")
    if watched != alone:
        sys.exit(f"rank {rank}: with the agent the losses are {watched}, without it {alone}")
    watch.close()
    torch.distributed.destroy_process_group()
    print(f"rank {rank}: {sorted(counting.count.forward.items())}", flush=True)


if __name__ == "__main__":
    main()
