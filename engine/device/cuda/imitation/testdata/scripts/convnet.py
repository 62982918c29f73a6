"""A convolutional network is trained, with its channels first and last."""

import torch
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv2d(3, 32, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(32),
        nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.Conv2d(64, 128, 1), nn.SiLU(), nn.AvgPool2d(2),
        nn.ConvTranspose2d(128, 64, 2, stride=2), nn.GroupNorm(8, 64), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def train(name, layout, benchmark, dtype=None):
    torch.backends.cudnn.benchmark = benchmark
    torch.cuda.reset_peak_memory_stats()
    model = network().cuda().to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        images = torch.randn(8, 3, 64, 64).cuda(non_blocking=True).to(memory_format=layout)
        with torch.autocast("cuda", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = nn.functional.cross_entropy(model(images), torch.zeros(8, dtype=torch.long, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"{name}: peak {torch.cuda.max_memory_allocated()}, reserved {torch.cuda.max_memory_reserved()}")
    assert all(p.device.type == "cuda" for p in model.parameters())
    return torch.cuda.max_memory_allocated()


first = train("channels first", torch.contiguous_format, False)
assert train("again", torch.contiguous_format, False) == first
train("channels last, bf16", torch.channels_last, False, torch.bfloat16)
train("with the benchmark", torch.contiguous_format, True)

with torch.inference_mode():
    for kind, shape in ((nn.Conv1d, (2, 8, 100)), (nn.Conv3d, (2, 8, 10, 10, 10))):
        answer = kind(8, 16, 3).cuda().eval()(torch.randn(shape, device="cuda"))
        assert answer.shape[:2] == (2, 16) and answer.shape[2] == shape[2] - 2
        print(kind.__name__, tuple(answer.shape))
