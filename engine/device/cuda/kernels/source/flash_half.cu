// Flash attention on the tensor cores for float16.
#include "flash_backward.h"

KERNEL(flash_half64, AttentionArgs, PAIRED(128)) { flash_tensor<Half, 64, 2, 64>(a); }
KERNEL(flash_half128, AttentionArgs, PAIRED(128)) { flash_tensor<Half, 128, 1, 32>(a); }
KERNEL(flash_backward_half64, AttentionArgs, PAIRED(128)) { flash_backward_tensor<Half, 64, 2, 64>(a); }
KERNEL(flash_backward_half128, AttentionArgs, PAIRED(128)) { flash_backward_tensor<Half, 128, 1, 32>(a); }
