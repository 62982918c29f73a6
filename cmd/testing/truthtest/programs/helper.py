"""One helper makes all tensors: who holds them are the functions that call it. Their kinds are not the question."""

import torch

from truth import Truth

truth = Truth(holders=("moments", "batch", "weights"))
truth.record()


def make(*shape):
    made = torch.empty(shape, device="cuda")
    truth.are("other/parameter/optimizer/input/activation/inference", made)
    return made


def weights():
    made = []
    for _ in range(6):
        made += [make(2048, 2048), make(2048, 2048)]
    return made


def moments(of):
    made = []
    for w in of:
        made += [make(*w.shape), make(*w.shape)]
    return made


def batch():
    return make(64, 2048, 512)


held = weights()
state = moments(held)
for _ in range(3):
    x = batch()
    del x
truth.end()
