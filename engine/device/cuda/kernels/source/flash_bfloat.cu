// Flash attention on the tensor cores for bfloat16.
#include "flash_tensor.h"

KERNEL(flash_bfloat64, AttentionArgs, 128) { flash_tensor<Bfloat, 64, 64>(a); }
KERNEL(flash_bfloat128, AttentionArgs, 128) { flash_tensor<Bfloat, 128, 32>(a); }
KERNEL(flash_queries_bfloat64, AttentionArgs, 128) { flash_tensor_backward<Bfloat, 64, 64, false>(a); }
KERNEL(flash_queries_bfloat128, AttentionArgs, 128) { flash_tensor_backward<Bfloat, 128, 16, false>(a); }
KERNEL(flash_keys_bfloat64, AttentionArgs, 128) { flash_tensor_backward<Bfloat, 64, 64, true>(a); }
KERNEL(flash_keys_bfloat128, AttentionArgs, 128) { flash_tensor_backward<Bfloat, 128, 16, true>(a); }
