"""Reads of small values call back, with whether their bytes were known."""

import ctypes

import torch

x = torch.randn(1000, device="cuda")  # a rehearsal has asked for reads by now, and asks no more
told = []
ANSWER = 0
KIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_int)
callback = KIND(lambda size, known: told.append((size, bool(known))) or ANSWER)
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
ANSWER = 1
assert bool((x > 0).any()), "the answer is not taken"
assert x.sum().item() == 0, "an answer is taken for more than a byte"
ANSWER = 0
assert reads(lambda: torch.zeros(3, device="cuda").tolist()) == [(12, True)], told
assert reads(lambda: x.cpu()) == [(4000, False)], told
assert reads(lambda: torch.empty(1 << 20, device="cuda").cpu()) == []
library.memtop_imitation_on_read(None)
assert reads(lambda: x.sum().item()) == []
print("reads are told")
