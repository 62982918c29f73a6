// All that a kernel may use of the machine, without a header of an SDK. On the
// device every function below is one instruction or two;
// host.h has stand-ins with the same meaning, so that the same kernels run on
// any processor. Kernels are written for both, and call these names only.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef int i32;
typedef long long i64;

#if defined(MEMTOP_HOST)
#include "host.h"
#else

#if defined(__clang__)
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif

#define DEVICE __device__ inline __attribute__((always_inline))
#define DEVICE_MEMBER __device__ inline __attribute__((always_inline))
// OUTLINE is for functions that are long and seldom used.
#define OUTLINE static __device__ __attribute__((noinline))
// ROLLED keeps a loop from being written out.
#define ROLLED _Pragma("unroll 1")
// FEWFOLD writes a loop of few rounds out four times.
#define FEWFOLD _Pragma("unroll 4")
// SELDOM begins what is seldom done, so that it is not done always and then ignored.
#define SELDOM asm volatile("")
// UNROLLED writes a loop out however long it becomes, so that the arrays it
// indexes stay in registers.
#define UNROLLED _Pragma("unroll")
// TABLE declares a constant in device memory.
#define TABLE static __device__ const
// KERNEL begins the definition of a kernel with one packed argument, a.
#define KERNEL(name, args, threads) extern "C" __global__ __launch_bounds__(threads) void name(const args a)
// PAIRED in place of the threads keeps registers few enough for two blocks on a
// processor.
#define PAIRED(threads) threads, 2
// SHARED declares memory of the block. Its contents are undefined at first.
#define SHARED(type, name) __shared__ type name
// SHARED_BYTES names the block's memory whose size the launch sets.
#define SHARED_BYTES(name) \
    extern __shared__ __attribute__((aligned(128))) unsigned char memtop_shared[]; \
    unsigned char *name = memtop_shared

DEVICE u32 thread_id() { u32 x; asm("mov.u32 %0, %%tid.x;" : "=r"(x)); return x; }
DEVICE u32 block_size() { u32 x; asm("mov.u32 %0, %%ntid.x;" : "=r"(x)); return x; }
DEVICE u32 block_x() { u32 x; asm("mov.u32 %0, %%ctaid.x;" : "=r"(x)); return x; }
DEVICE u32 block_y() { u32 x; asm("mov.u32 %0, %%ctaid.y;" : "=r"(x)); return x; }
DEVICE u32 block_z() { u32 x; asm("mov.u32 %0, %%ctaid.z;" : "=r"(x)); return x; }
DEVICE u32 blocks_x() { u32 x; asm("mov.u32 %0, %%nctaid.x;" : "=r"(x)); return x; }

// barrier waits for every thread of the block and makes its stores visible.
DEVICE void barrier() { asm volatile("bar.sync 0;" ::: "memory"); }

// shuffle_xor returns the value of the lane whose number differs by mask. Every
// thread of the warp must call it.
DEVICE u32 shuffle_xor(u32 x, u32 mask) {
    u32 y;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(y) : "r"(x), "r"(mask));
    return y;
}

DEVICE float float_of(u32 bits) { float x; asm("mov.b32 %0, %1;" : "=f"(x) : "r"(bits)); return x; }
DEVICE u32 bits_of(float x) { u32 b; asm("mov.b32 %0, %1;" : "=r"(b) : "f"(x)); return b; }
DEVICE double double_of(u64 bits) { double x; asm("mov.b64 %0, %1;" : "=d"(x) : "l"(bits)); return x; }
DEVICE u64 bits_of(double x) { u64 b; asm("mov.b64 %0, %1;" : "=l"(b) : "d"(x)); return b; }

// fused returns a·b + c with one rounding.
DEVICE float fused(float a, float b, float c) { float x; asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(x) : "f"(a), "f"(b), "f"(c)); return x; }
DEVICE double fused(double a, double b, double c) { double x; asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(x) : "d"(a), "d"(b), "d"(c)); return x; }

DEVICE float root(float x) { float y; asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEVICE double root(double x) { double y; asm("sqrt.rn.f64 %0, %1;" : "=d"(y) : "d"(x)); return y; }

// larger_fast returns the larger of two; a NaN is less than every number.
DEVICE float larger_fast(float a, float b) { float x; asm("max.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b)); return x; }

// exp2_fast returns 2^x within two units of the 22nd bit; tiny results are 0.
DEVICE float exp2_fast(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

DEVICE float float_of_half(u16 h) { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h)); return x; }
DEVICE u16 half_of(float x) { u16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
DEVICE u16 bfloat_of(float x) { u16 h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
// The pair functions put low in the lower half of the word.
DEVICE u32 bfloat_pair(float low, float high) { u32 w; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w; }
DEVICE u32 half_pair(float low, float high) { u32 w; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low)); return w; }

// The words functions move 8 or 16 bytes, so aligned, of global memory at once.
DEVICE void load_words(u32 w[2], const void *p) { asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p) : "memory"); }
DEVICE void load_words4(u32 w[4], const void *p) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(p) : "memory");
}
DEVICE void store_words(void *p, const u32 w[2]) { asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(w[0]), "r"(w[1]) : "memory"); }
DEVICE void store_words4(void *p, const u32 w[4]) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// claim sets *word from 0 to 1 and reports whether this thread did it.
DEVICE bool claim(u32 *word) {
    u32 old;
    asm volatile("atom.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(word) : "memory");
    return old == 0;
}

// take returns *counter and adds 1. Blocks that began before take smaller numbers,
// so one may wait for those of smaller numbers.
DEVICE u32 take(u32 *counter) {
    u32 old;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(counter) : "memory");
    return old;
}

// wait_for waits until *word is value, which another block publishes. What that
// block wrote before is then visible to this thread, and behind a barrier to
// its block.
DEVICE void wait_for(const u32 *word, u32 value) {
    u32 now;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
    while (now != value);
}
// publish sets *word, behind all that this thread wrote, and before a barrier its
// block.
DEVICE void publish(u32 *word, u32 value) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory"); }

// shared_address returns p's place in the block's memory.
DEVICE u32 shared_address(const void *p) {
    u64 a;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(a) : "l"((u64)p));
    return (u32)a;
}

DEVICE void store_shared(u32 at, u32 word) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory"); }

// copy_async starts a copy of 16 bytes from global to shared memory; the last
// 16−bytes become 0 without being read. Both are 16-byte aligned.
DEVICE void copy_async(u32 shared, const void *global, u32 bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}
DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// copy_async_wait waits until at most pending groups of this thread are open.
template <int pending> DEVICE void copy_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }

// load_matrices gives the warp four 8×8 matrices of 16-bit numbers. Lane l passes
// the address of row l%8 of matrix l/8 (16-byte aligned, in shared memory) and
// gets, of every matrix, the two numbers at row l/4, column 2·(l%4).
DEVICE void load_matrices(u32 r[4], u32 row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
}
// load_transposed is load_matrices with every matrix transposed.
DEVICE void load_transposed(u32 r[4], u32 row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
}

// multiply_bfloat adds a 16×16 by 16×8 product to c. Lane l holds, with
// g = l/4 and t = 2·(l%4): of a the pairs at (g, t), (g+8, t), (g, t+8),
// (g+8, t+8); of b the pairs down the column g at rows t and t+8; of c the
// numbers (g, t), (g, t+1), (g+8, t), (g+8, t+1).
DEVICE void multiply_bfloat(float c[4], const u32 a[4], const u32 b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void multiply_half(float c[4], const u32 a[4], const u32 b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
