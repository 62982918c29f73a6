"""One optimizer counts its own calls, also those of a scheduler, and one calls a closure."""

import collections
import warnings

import torch
from training import Training, turns

warnings.simplefilter("error")
training, counts = Training(), collections.Counter()


class Own(torch.optim.SGD):
    def step(self, *arguments, **named):
        counts["step", len(arguments), len(named)] += 1
        return super().step(*arguments, **named)

    def zero_grad(self, set_to_none=True):
        counts["zero", set_to_none] += 1
        super().zero_grad(set_to_none)

    def __setattr__(self, name, value):
        counts["set", name] += 1
        super().__setattr__(name, value)


own = training.optimizer = Own(training.model.parameters(), 1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(own, 10)
second = Training(seed=2)
lbfgs = torch.optim.LBFGS(second.model.parameters(), max_iter=3)


def closure():
    counts["closure"] += 1
    lbfgs.zero_grad()
    loss = second.model(torch.ones(4, 8)).pow(2).mean()
    loss.backward()
    return loss


for _ in turns():
    loss = training.step()
    scheduler.step()
    second_loss = lbfgs.step(closure)
names = sorted(name for name in vars(own) if "memtop" in name)
print(sorted(counts.items()), names, sorted(own.state_dict()), loss.item().hex(), second_loss.item().hex())
