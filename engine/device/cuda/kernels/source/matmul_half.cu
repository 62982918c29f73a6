// Products of float16 matrices on the tensor cores. The letters say for A and for
// B whether the transpose is stored.
#include "matmul_tensor.h"

KERNEL(tensor_half_nn, MatMulArgs, 256) { multiply_tensor<Half, false, false>(a); }
KERNEL(tensor_half_nt, MatMulArgs, 256) { multiply_tensor<Half, false, true>(a); }
KERNEL(tensor_half_tn, MatMulArgs, 256) { multiply_tensor<Half, true, false>(a); }
KERNEL(tensor_half_tt, MatMulArgs, 256) { multiply_tensor<Half, true, true>(a); }
