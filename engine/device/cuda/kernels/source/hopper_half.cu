// Products of float16 matrices on Hopper's tensor cores. The letters say for A and
// for B whether the transpose is stored.
#include "hopper.h"

KERNEL(hopper_half_nn, MatMulArgs, PAIRED(256)) { multiply_group<GroupHalf, false, false>(a); }
KERNEL(hopper_half_nt, MatMulArgs, PAIRED(256)) { multiply_group<GroupHalf, false, true>(a); }
KERNEL(hopper_half_tn, MatMulArgs, PAIRED(256)) { multiply_group<GroupHalf, true, false>(a); }
KERNEL(hopper_half_tt, MatMulArgs, PAIRED(256)) { multiply_group<GroupHalf, true, true>(a); }
