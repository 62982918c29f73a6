"""Reads call back, with whether their bytes were known, and are what is written then."""

import ctypes

import torch

x = torch.randn(1000, device="cuda")  # a rehearsal has asked for reads by now, and asks no more
told = []
answer = b""
KIND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)


def tell(address, size, known):
    told.append((size, bool(known)))
    ctypes.memmove(address, answer, len(answer))


callback = KIND(tell)
library = ctypes.CDLL(None)
library.memtop_imitation_on_read(callback)


def reads(of):
    told.clear()
    of()
    return list(told)


put = torch.tensor([1, 2, 3]).cuda()
assert reads(lambda: put.tolist()) == [(24, True)], told
assert reads(lambda: x.sum().item()) == [(4, False)], told
assert reads(lambda: bool((x > 0).any())) == [(1, False)], told
answer = b"\1"
assert bool((x > 0).any()), "the answer is not taken"
answer = (5).to_bytes(8, "little")
assert x.argmax().item() == 5, "the answer is not taken"
answer = b""
assert reads(lambda: torch.zeros(3, device="cuda").tolist()) == [(12, True)], told
assert reads(lambda: x.cpu()) == [(4000, False)], told
assert reads(lambda: torch.empty(1 << 20, device="cuda").cpu()) == [(4 << 20, False)], told
library.memtop_imitation_on_read(None)
assert reads(lambda: x.sum().item()) == []
print("reads are told")
