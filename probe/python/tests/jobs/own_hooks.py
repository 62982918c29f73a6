"""It has hooks of all kinds, prints their order, and expects no others on its modules, parameters and optimizer."""

import hashlib

import torch
from training import Training, turns

training, order, strangers = Training(), hashlib.sha256(), set()
module, optimizer = torch.nn.modules.module, training.optimizer
names = {layer: name for name, layer in training.model.named_modules()}


def noted(kind, *who):
    order.update(f"{kind} {[names.get(one, '') for one in who]}".encode())


module.register_module_forward_pre_hook(lambda m, x: noted("any before", m))
module.register_module_forward_hook(lambda m, x, y: noted("any after", m))
for layer in names:
    layer.register_forward_pre_hook(lambda m, x: noted("before", m))
    layer.register_forward_hook(lambda m, x, y: noted("after", m))
    layer.register_full_backward_hook(lambda m, x, y: noted("backward", m))
for parameter in training.model.parameters():
    parameter.register_hook(lambda gradient: noted("gradient"))
    parameter.register_post_accumulate_grad_hook(lambda p: noted("accumulated"))
optimizer.register_step_pre_hook(lambda *_: noted("before step"))
optimizer.register_step_post_hook(lambda *_: noted("after step"))
for _ in turns():
    training.step()
    for layer in names:
        for kind in ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks"):
            strangers |= {(kind, len(getattr(layer, kind)))} - {(kind, 1)}
        strangers |= {name for name in vars(layer) if "forward" in name and not name.startswith("_")}
    for parameter in training.model.parameters():
        strangers |= {("tensor", len(parameter._backward_hooks))} - {("tensor", 1)}
    hooks = [optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks]
    strangers |= {("optimizer", len(one)) for one in hooks} - {("optimizer", 1)}
print(order.hexdigest(), strangers)
