"""Writes batch_norm.json: two steps and an evaluation of PyTorch's BatchNorm2d, for TestBatchNormIsPyTorchs.

Run it with a Python that has torch:  python batch_norm.py > batch_norm.json
Everything is float64. The channels' means are far from 0.
"""

import json

import torch

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


def flat(x):
    return {"shape": list(x.shape), "values": x.detach().reshape(-1).tolist()}


norm = torch.nn.BatchNorm2d(3)
with torch.no_grad():
    norm.weight.copy_(torch.randn(3))
    norm.bias.copy_(torch.randn(3))
steps = []
for training in (True, True, False):
    norm.train(training)
    norm.zero_grad()
    x = (torch.randn(4, 3, 2, 5) * 2 + torch.tensor([0.0, 40.0, -7.0]).view(3, 1, 1)).requires_grad_()
    y = norm(x)
    (y * torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)).sum().backward()
    steps.append({"training": training, "input": flat(x), "output": flat(y), "grads": {
        "input": flat(x.grad), "weight": flat(norm.weight.grad), "bias": flat(norm.bias.grad),
    }, "running": {"running_mean": flat(norm.running_mean), "running_var": flat(norm.running_var)}})
print(json.dumps({"torch": torch.__version__.split("+")[0], "weight": flat(norm.weight), "bias": flat(norm.bias), "steps": steps}))
