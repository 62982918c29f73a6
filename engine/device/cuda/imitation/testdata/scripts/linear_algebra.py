"""Decompositions, Fourier transforms and sparse products: shapes are right and nothing dies."""

import torch

a = torch.eye(48).repeat(3, 1, 1).cuda()
b = torch.randn(3, 48, 5).cuda()
linalg = torch.linalg

assert linalg.cholesky(a).shape == a.shape and linalg.cholesky(a[0]).shape == (48, 48)
assert linalg.solve(a, b).shape == b.shape and linalg.solve(a[0], b[0]).shape == b[0].shape
assert linalg.inv(a).shape == a.shape and linalg.det(a).shape == (3,)
for mode in "reduced", "complete", "r":
    linalg.qr(torch.randn(3, 60, 20, device="cuda"), mode=mode)
    linalg.qr(torch.randn(60, 20, device="cuda"), mode=mode)
for full in False, True:
    u, s, v = linalg.svd(torch.randn(60, 20, device="cuda"), full_matrices=full)
    assert s.shape == (20,) and u.shape == (60, 60 if full else 20)
    assert linalg.svd(torch.randn(3, 60, 20, device="cuda"), full_matrices=full)[1].shape == (3, 20)
for driver in "gesvd", "gesvdj", "gesvda":
    assert linalg.svdvals(torch.randn(2, 60, 20, device="cuda"), driver=driver).shape == (2, 20)
assert linalg.eigh(a)[0].shape == (3, 48) and linalg.eigh(a[0])[1].shape == (48, 48)
assert linalg.eigh(torch.eye(700).cuda())[0].shape == (700,)
assert linalg.lstsq(torch.randn(60, 20, device="cuda"), torch.randn(60, 2, device="cuda")).solution.shape == (20, 2)
assert linalg.lu_factor(a)[0].shape == a.shape and linalg.ldl_factor(a)[0].shape == a.shape
assert torch.cholesky_inverse(a).shape == a.shape and torch.cholesky_solve(b, a).shape == b.shape
assert linalg.solve_triangular(a, b, upper=True).shape == b.shape
for kind in torch.float64, torch.complex64, torch.complex128:
    c = torch.eye(32, dtype=kind).cuda()
    linalg.cholesky(c), linalg.qr(c), linalg.svd(c), linalg.eigh(c), linalg.solve(c, c)
print("linalg: peak", torch.cuda.max_memory_allocated())

torch.cuda.reset_peak_memory_stats()
x = torch.randn(4, 16, 64, device="cuda", requires_grad=True)
y = torch.fft.rfft(x)
assert y.shape == (4, 16, 33) and torch.fft.irfft(y, n=64).shape == x.shape
torch.fft.fft2(x).abs().sum().backward()
assert torch.fft.fftn(x).shape == x.shape and torch.fft.fft(x.half()).dtype == torch.complex32
assert torch.stft(
    torch.randn(2, 4000, device="cuda"), 400, window=torch.hann_window(400).cuda(), return_complex=True
).shape[:2] == (2, 201)
print("fft: peak", torch.cuda.max_memory_allocated())

torch.cuda.reset_peak_memory_stats()
places = torch.tensor([[0, 1, 2], [2, 0, 1]]).cuda()
coo = torch.sparse_coo_tensor(places, torch.ones(3).cuda(), (48, 48), is_coalesced=True, check_invariants=False)
assert torch.sparse.mm(coo, a[0]).shape == (48, 48)
rows = torch.tensor([0, 1, 2, *[3] * 46]).cuda()
csr = torch.sparse_csr_tensor(
    rows, torch.tensor([2, 0, 1]).cuda(), torch.ones(3).cuda(), (48, 48), check_invariants=False
)
assert (csr @ a[0]).shape == (48, 48) and (csr @ a[0, 0]).shape == (48,)
print("sparse: peak", torch.cuda.max_memory_allocated())
