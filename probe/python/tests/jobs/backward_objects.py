"""Its backward finds parameters by identity and sets attributes on them, and an activation's data is swapped."""

import torch
from training import Training, turns

used: dict = {}


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, slope):
        x, weight = ctx.saved_tensors
        used[weight] += 1  # an error, if it is another object
        assert type(weight) is torch.nn.Parameter, type(weight)
        weight.seen = True
        return slope * weight, (slope * x).sum(0)


class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return Scaled.apply(x, self.weight)


training = Training()
scale = Scale(training.model[-1].out_features)
training.optimizer.add_param_group({"params": [scale.weight]})
used[scale.weight] = 0
for _ in turns():
    middle = training.model(training.input()).tanh()
    loss = (middle * scale(middle) - 1).pow(2).mean()
    middle.data = middle.detach().to(torch.bfloat16).float()
    scale.weight.seen = False
    training.optimizer.zero_grad()
    loss.backward()
    assert scale.weight.seen, "what backward was given was not the parameter"
    training.optimizer.step()
print(used[scale.weight], loss.item().hex())
