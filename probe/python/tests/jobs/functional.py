"""It trains by torch.func: gradients of a function of its parameters, one for each sample of a batch."""

import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from training import Training, turns

models = [Training(seed=number).model for number in range(3)]
parameters, buffers = stack_module_state(models)
optimizer = torch.optim.SGD(parameters.values(), 1e-2)
own = Training()


def loss(values, sample):
    return functional_call(models[0], values, (sample,)).pow(2).mean()


for _ in turns():
    gradients = vmap(vmap(grad(loss), in_dims=(None, 0)), in_dims=(0, None))(parameters, own.input())
    for name, parameter in parameters.items():
        parameter.grad = gradients[name].mean(1)
    optimizer.step()
    curvature = torch.func.hessian(lambda x: models[0](x).sum())(own.input()[0])
print(curvature.sum().item().hex(), *(value.sum().item().hex() for value in parameters.values()))
