"""Products, norms and counts of what nothing computes: they have their sizes."""

import torch

x, y = (torch.randn(100, device="cuda", requires_grad=True) for _ in range(2))
assert torch.dot(x, y).shape == torch.vdot(x, y).shape == (x @ y).shape == ()
(x @ y).backward()
assert x.grad.shape == (100,)
layer = torch.nn.utils.spectral_norm(torch.nn.Linear(8, 8, device="cuda"))
layer(torch.ones(2, 8, device="cuda")).sum().backward()
optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=3)
for _ in range(2):
    optimizer.step(lambda: layer(torch.ones(2, 8, device="cuda")).sum().square())
assert torch.linalg.det(torch.randn(3, 3, device="cuda")).shape == ()  # it writes remainders by a number in place
if hasattr(torch.library, "get_kernel"):  # else only `nonzero` has another number of rows than the device counts
    assert torch.unique(torch.randn(9, device="cuda")).numel() == 1  # the fewest there can be
    assert torch.unique_consecutive(torch.empty(0, device="cuda")).numel() == 0

# A power of a number is called with that number on the device; what it writes to is not known any more.
assert torch.pow(2.0, x).shape == torch.logaddexp2(x, y).shape == (100,)
z = torch.ones(4, device="cuda")
torch.pow(torch.randn(4, device="cuda"), torch.randn(4, device="cuda"), out=z)
assert not z.any()


@torch.jit.script
def square(x):
    return torch.pow(x, 2)


assert square(x).shape == (100,)
if hasattr(torch.library, "get_kernel"):  # else nothing is replaced
    assert torch.compile(lambda x: torch.pow(x, 2), fullgraph=True)(x).shape == (100,)
