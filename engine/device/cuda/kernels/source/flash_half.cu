// Flash attention on the tensor cores for float16.
#include "flash_tensor.h"

KERNEL(flash_half64, AttentionArgs, 128) { flash_tensor<Half, 64, 64>(a); }
KERNEL(flash_half128, AttentionArgs, 128) { flash_tensor<Half, 128, 32>(a); }
KERNEL(flash_queries_half64, AttentionArgs, 128) { flash_tensor_backward<Half, 64, 64, false>(a); }
KERNEL(flash_queries_half128, AttentionArgs, 128) { flash_tensor_backward<Half, 128, 16, false>(a); }
KERNEL(flash_keys_half64, AttentionArgs, 128) { flash_tensor_backward<Half, 64, 64, true>(a); }
KERNEL(flash_keys_half128, AttentionArgs, 128) { flash_tensor_backward<Half, 128, 16, true>(a); }
