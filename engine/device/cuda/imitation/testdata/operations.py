"""Call every operation that PyTorch's own tests know, forward and backward, on small tensors of the imitated GPU.

usage: operations.py [WORD...] (only operations whose name has one of the words)

Prints a line for each that raises on the GPU and not on the processor, and exits with 1 if one of them is not in
`REFUSED`, or if one of those is done after all. PyTorch's tests import `expecttest`, of which they use nothing here.
"""

import sys
import types
import warnings

import torch

sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=object, assert_expected_inline=None))
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.opinfo import core  # noqa: E402

core.extract_test_fn = lambda: None  # it searches the stack for a test at each sample

MOST = 8  # samples of an operation

REFUSED = {
    "cov": "checks that weights are not negative, by values that nothing computes",
    "istft": "checks that windows overlap, by values that nothing computes",
    "linalg.eig": "its backward pass checks that the loss does not depend on a phase, by values that nothing computes",
    "mode": "finds the place of a value that nothing computes",
    "sparse.mm": "with `reduce` there is none for CUDA",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": "there is none for CUDA",
}


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)


def named(operation, name):
    """Return a function whose line is of a file of its own: of conditions that a line reads, some are true."""
    scope = {"operation": operation}
    exec(compile("def one(*a, **k): return operation(*a, **k)", f"{name}.py", "exec"), scope)
    return scope["one"]


def call(operation, sample, backward):
    one = named(operation, operation.name)
    result = one(sample.input, *sample.args, **sample.kwargs)
    results = tensors(sample.output_process_fn_grad(result))
    losses = [x.abs().sum() for x in results if x.requires_grad and x.layout == torch.strided]
    if backward and losses:
        sum(x.to(losses[0].dtype) for x in losses).backward()


def failure(operation, device):
    """Return what an operation raises, None for nothing."""
    its = operation.supported_dtypes(device)
    dtype = next((t for t in (torch.float32, torch.complex64, torch.int64, *its) if t in its), None)
    if dtype is None:
        return None
    backward = dtype in operation.supported_backward_dtypes(device) and operation.supports_autograd
    try:
        for _, sample in zip(range(MOST), operation.sample_inputs(device, dtype, requires_grad=backward)):
            call(operation, sample, backward)
    except Exception as e:
        return f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:200]
    return None


def main():
    warnings.simplefilter("ignore")
    torch.cuda.init()
    raises, tried = {}, set()
    for operation in op_db:
        if sys.argv[1:] and not any(word in operation.name for word in sys.argv[1:]):
            continue
        name = operation.name
        tried.add(f"{name} {operation.variant_test_name}".strip())
        raised = failure(operation, "cuda:0")
        if raised and not failure(operation, "cpu"):
            raises[name] = raised
            print(f"{name} {operation.variant_test_name}\t{raised}", flush=True)
    new = [name for name in raises if name not in REFUSED]
    done = [name for name in REFUSED if name in tried and name not in raises]
    print(f"{len(tried)} operations tried, {len(raises)} raise; not listed: {new}; listed, and done all the same: {done}")
    sys.exit(bool(new or done))


main()
