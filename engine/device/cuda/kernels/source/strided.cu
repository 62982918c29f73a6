// Copies between views. The host has removed dimensions of one element and
// joined those that are contiguous in both views.
#include "number.h"

struct CopyStridedArgs {
    Array dst, src;
    i64 n;
    i64 shape[8], dst_step[8], src_step[8]; // from the last dimension on
    i32 dims, size;
};

// places finds element i in both views.
template <typename Index> DEVICE void places(const CopyStridedArgs &a, i64 i, i64 &dst, i64 &src) {
    Index rest = (Index)i;
    for (i32 d = 0; d < 8; d++) {
        if (d >= a.dims) break;
        Index next = rest / (Index)a.shape[d], k = rest - next * (Index)a.shape[d];
        dst += (i64)k * a.dst_step[d];
        src += (i64)k * a.src_step[d];
        rest = next;
    }
}

KERNEL(copy_strided, CopyStridedArgs, 256) {
    i64 i = (i64)block_x() * block_size() + thread_id();
    if (i >= a.n) return;
    i64 dst = 0, src = 0;
    if (a.n >> 32) places<u64>(a, i, dst, src);
    else places<u32>(a, i, dst, src);
    switch (a.size) {
    case 1: element<u8>(a.dst, dst) = element<u8>(a.src, src); break;
    case 2: element<u16>(a.dst, dst) = element<u16>(a.src, src); break;
    case 4: element<u32>(a.dst, dst) = element<u32>(a.src, src); break;
    case 8: element<u64>(a.dst, dst) = element<u64>(a.src, src); break;
    default: {
        u32 w[4];
        load_words4(w, (const void *)(a.src.addr + src * 16));
        store_words4((void *)(a.dst.addr + dst * 16), w);
    }
    }
}
