// Random numbers: Philox4x32 with ten rounds, after Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3" (SC 2011). A thread has one counter and
// the four elements that its words are for.
#include "functions.h"
#include "number.h"

DEVICE void philox(u32 words[4], u64 seed, u64 counter) {
    u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = 0, c3 = 0, k0 = (u32)seed, k1 = (u32)(seed >> 32);
    for (i32 round = 0; round < 10; round++) {
        u64 p0 = (u64)0xd2511f53 * c0, p1 = (u64)0xcd9e8d57 * c2;
        c0 = (u32)(p1 >> 32) ^ c1 ^ k0;
        c1 = (u32)p1;
        c2 = (u32)(p0 >> 32) ^ c3 ^ k1;
        c3 = (u32)p0;
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

// DropoutArgs: y = x·scale where the upper 24 bits of a word are least or more,
// or with drawn 0 where the mask is set.
struct DropoutArgs {
    Array y, x, mask;
    u64 seed, offset;
    double scale;
    u32 least;
    i32 drawn;
};

KERNEL(dropout, DropoutArgs, 256) {
    Quad q = quad(a.x.len);
    if (q.n <= 0) return;
    float x[4];
    u32 words[4];
    load4(x, a.x, q.i, q.n);
    if (a.drawn) philox(words, a.seed, a.offset + (u64)q.i / 4);
    UNROLLED for (i32 k = 0; k < 4; k++) {
        if (k >= q.n) break;
        u8 kept = a.drawn ? words[k] >> 8 >= a.least : element<u8>(a.mask, q.i + k);
        x[k] = x[k] * (float)a.scale * (float)kept;
        if (a.drawn && present(a.mask)) element<u8>(a.mask, q.i + k) = kept;
    }
    store4(a.y, q.i, q.n, x);
}

// DrawArgs: dst = base + width·u, or with normal set base + width·z.
struct DrawArgs {
    Array dst;
    u64 seed, offset;
    double base, width;
    i32 normal;
};

DEVICE double unit(u32 word) { return (double)(word >> 8) * (1.0 / 16777216); }

KERNEL(draw, DrawArgs, 256) {
    Quad q = quad(a.dst.len);
    if (q.n <= 0) return;
    u32 words[4];
    double x[4];
    philox(words, a.seed, a.offset + (u64)q.i / 4);
    UNROLLED for (i32 k = 0; k < 4; k += 2) {
        double u1 = unit(words[k]), u2 = unit(words[k + 1]);
        if (a.normal) {
            double radius = root(-2 * math::log(1 - u1));
            math::sin_cos(u2, u2, u1);
            u1 *= radius;
            u2 *= radius;
        }
        x[k] = a.base + a.width * u1;
        x[k + 1] = a.base + a.width * u2;
    }
    store4(a.dst, q.i, q.n, x);
}
