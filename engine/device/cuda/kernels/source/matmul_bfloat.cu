// Products of bfloat16 matrices on the tensor cores. The letters say for A and for
// B whether the transpose is stored.
#include "matmul_tensor.h"

KERNEL(tensor_bfloat_nn, MatMulArgs, 256) { multiply_tensor<Bfloat, false, false>(a); }
KERNEL(tensor_bfloat_nt, MatMulArgs, 256) { multiply_tensor<Bfloat, false, true>(a); }
KERNEL(tensor_bfloat_tn, MatMulArgs, 256) { multiply_tensor<Bfloat, true, false>(a); }
KERNEL(tensor_bfloat_tt, MatMulArgs, 256) { multiply_tensor<Bfloat, true, true>(a); }
