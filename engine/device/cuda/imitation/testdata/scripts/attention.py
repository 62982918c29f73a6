"""The kernel of scaled_dot_product_attention is the one of the GPU that is imitated."""

import os
import subprocess
import sys

EXPECTED = {  # by capability: bf16, fp32
    "7.5": ("MATH", "EFFICIENT_ATTENTION"),
    "8.0": ("FLASH_ATTENTION", "EFFICIENT_ATTENTION"),
    "9.0": ("CUDNN_ATTENTION", "EFFICIENT_ATTENTION"),
    "10.0": ("CUDNN_ATTENTION", "EFFICIENT_ATTENTION"),
    "12.0": ("FLASH_ATTENTION", "EFFICIENT_ATTENTION"),
}


def one(capability):
    import torch
    from torch.nn.attention import SDPBackend
    from torch.nn.functional import scaled_dot_product_attention

    assert torch.cuda.get_device_capability() == tuple(map(int, capability.split(".")))
    names = []
    for dtype in torch.bfloat16, torch.float32:
        q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=dtype, requires_grad=True) for _ in range(3))
        names.append(SDPBackend(torch._fused_sdp_choice(q, k, v, is_causal=True)).name)
        torch.cuda.reset_peak_memory_stats()
        out = scaled_dot_product_attention(q, k, v, is_causal=True)
        out.backward(torch.ones_like(out))
        assert q.grad.shape == q.shape
        names[-1] += f" {torch.cuda.max_memory_allocated()}"
    print(capability, *names)
    for name, wanted in zip(names, EXPECTED[capability], strict=True):
        assert name.split()[0] == wanted, (name, wanted)


if len(sys.argv) > 1:
    one(sys.argv[1])
else:
    for capability in EXPECTED:
        major, minor = capability.split(".")
        gpu = os.environ.get("MEMTOP_IMITATED_GPU", "") + f";major={major};minor={minor}"
        subprocess.run(
            [sys.executable, __file__, capability], env={**os.environ, "MEMTOP_IMITATED_GPU": gpu}, check=True
        )
