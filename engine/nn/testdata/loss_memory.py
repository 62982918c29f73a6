"""Writes loss_memory.json: the bytes of PyTorch's cross-entropy, for TestCrossEntropyTakesTheBytesOfPyTorchs.

Run it with a Python that has torch:  python loss_memory.py > loss_memory.json
What the processor's allocator reports is measured. Autocast on CUDA leaves the type of log_softmax as the cross-entropy
asks for it, that of the logits, and converts what nll_loss is given; on a processor it converts the logits.
"""

import json

import torch
from torch.nn import functional as F
from torch._C._profiler import _EventType


def allocations(run):
    """Runs a function, and returns its result and the sizes of what it allocated, and freed as negative ones, in order."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        result = run()
    found, events = [], list(profile.profiler.kineto_results.experimental_event_tree())
    while events:
        event = events.pop()
        events += event.children
        if event.typed[0] == _EventType.Allocation:
            found.append((event.start_time_ns, event.typed[1].alloc_size))
    return result, [size for _, size in sorted(found, key=lambda f: f[0])]


def autocast(logits, targets):
    return F.nll_loss(F.log_softmax(logits, -1).float(), targets)


def converted(logits, targets):
    return F.cross_entropy(logits.float(), targets)


def case(rows, classes, dtype, loss_of):
    weight = torch.randn(rows, classes).to(dtype).requires_grad_()
    targets = torch.randint(classes, (rows,))

    def forward():
        logits = -weight
        return loss_of(logits, targets)

    loss, there = allocations(forward)
    _, back = allocations(loss.backward)
    live, levels = 0, []
    for size in there + back:
        live += size
        levels.append(live)
    return {"rows": rows, "classes": classes, "type": str(dtype).split(".")[1], "autocast": loss_of is autocast,
            "kept": sum(there), "peak": max(levels), "left": live}


sizes = [(6, 11), (64, 1000), (128, 5003)]
kinds = [(torch.float32, F.cross_entropy), (torch.bfloat16, autocast), (torch.bfloat16, converted)]
cases = [case(rows, classes, *kind) for rows, classes in sizes for kind in kinds]
print(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}, indent=1))
