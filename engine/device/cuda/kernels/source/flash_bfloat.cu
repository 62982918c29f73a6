// Flash attention on the tensor cores for bfloat16.
#include "flash_backward.h"

KERNEL(flash_bfloat64, AttentionArgs, PAIRED(128)) { flash_tensor<Bfloat, 64, 2, 64>(a); }
KERNEL(flash_bfloat128, AttentionArgs, PAIRED(128)) { flash_tensor<Bfloat, 128, 1, 32>(a); }
KERNEL(flash_backward_bfloat64, AttentionArgs, PAIRED(128)) { flash_backward_tensor<Bfloat, 64, 2, 64>(a); }
KERNEL(flash_backward_bfloat128, AttentionArgs, PAIRED(128)) { flash_backward_tensor<Bfloat, 128, 1, 32>(a); }
