// Products of bfloat16 matrices on Hopper's tensor cores. The letters say for A and
// for B whether the transpose is stored.
#include "hopper.h"

KERNEL(hopper_bfloat_nn, MatMulArgs, PAIRED(256)) { multiply_group<GroupBfloat, false, false>(a); }
KERNEL(hopper_bfloat_nt, MatMulArgs, PAIRED(256)) { multiply_group<GroupBfloat, false, true>(a); }
KERNEL(hopper_bfloat_tn, MatMulArgs, PAIRED(256)) { multiply_group<GroupBfloat, true, false>(a); }
KERNEL(hopper_bfloat_tt, MatMulArgs, PAIRED(256)) { multiply_group<GroupBfloat, true, true>(a); }
