// Hopper's products of matrices in shared memory, by warp groups: four warps; the
// number of the first is a multiple of four. Only compute capability 9.0 has them,
// so a module that uses them is compiled for sm_90a.
#pragma once
#include "rt.h"

// A descriptor tells the tensor cores the places of an operand's numbers. A unit
// is 8 × 128 bytes: eight rows whose 16-byte chunks are permuted as in Chunks<8>,
// because the machine does the same to addresses: bits 4 to 6 are those of the
// number's address xor bits 7 to 9. So those 1,024 bytes begin at a multiple of
// 1,024, and first may point into their first row.
//
// Along K, a row holds one row or column of the matrix, and stride is the bytes
// from eight of them to the next. Across K, a row holds one k for 64 rows or
// columns; stride is the bytes from eight k to the next, and leading those from
// 64 rows or columns to the next. leading means nothing along K.
DEVICE u64 described(u32 first, u32 leading, u32 stride) {
    const u64 swizzled_128 = 1;
    return (u64)(first >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | swizzled_128 << 62;
}

#if defined(MEMTOP_HOST)
#include "host_wgmma.h"
#else

#define MEMTOP_SUMS(c) \
    "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), \
    "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), \
    "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), \
    "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), \
    "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), \
    "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), \
    "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]), \
    "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
#define MEMTOP_SUM_NAMES \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

// shared_fence lets the tensor cores see what this thread has stored in shared
// memory. A barrier between them is also needed.
DEVICE void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// group_begin lets later products use sums that this thread has written.
DEVICE void group_begin(float (&c)[64]) { asm volatile("wgmma.fence.sync.aligned;" : MEMTOP_SUMS(c)::"memory"); }

// group_commit lets group_end wait for the products since group_begin.
DEVICE void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// group_end waits for the committed products: until then no thread may touch the
// sums or change the operands.
DEVICE void group_end(float (&c)[64]) { asm volatile("wgmma.wait_group.sync.aligned 0;" : MEMTOP_SUMS(c)::"memory"); }

// group_bfloat adds a 64×16 by 16×128 product to c. Lane l of warp w of the group
// holds for every eight columns the sums that multiply_bfloat gives it, of the
// rows from 16·w on. across_a and across_b say that an operand lies across K.
template <bool across_a, bool across_b> DEVICE void group_bfloat(float (&c)[64], u64 a, u64 b) {
    asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " MEMTOP_SUM_NAMES ", %64, %65, add, 1, 1, %66, %67;\n\t}"
                 : MEMTOP_SUMS(c) : "l"(a), "l"(b), "n"((i32)across_a), "n"((i32)across_b) : "memory");
}
template <bool across_a, bool across_b> DEVICE void group_half(float (&c)[64], u64 a, u64 b) {
    asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " MEMTOP_SUM_NAMES ", %64, %65, add, 1, 1, %66, %67;\n\t}"
                 : MEMTOP_SUMS(c) : "l"(a), "l"(b), "n"((i32)across_a), "n"((i32)across_b) : "memory");
}

// group_bfloat adds a 64×16 by 16×8 product to c, whose columns lie along K.
template <bool across_a> DEVICE void group_bfloat(float (&c)[4], u64 a, u64 b) {
    asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, add, 1, 1, %6, 0;\n\t}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(a), "l"(b), "n"((i32)across_a) : "memory");
}
template <bool across_a> DEVICE void group_half(float (&c)[4], u64 a, u64 b) {
    asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, add, 1, 1, %6, 0;\n\t}"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(a), "l"(b), "n"((i32)across_a) : "memory");
}

// group_settle stands before and after products of eight columns, beside group_begin
// and group_end, which order the rest.
DEVICE void group_settle(float (&c)[4]) { asm volatile("" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])::"memory"); }

#endif
