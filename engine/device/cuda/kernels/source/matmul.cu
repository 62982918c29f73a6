// Products on ordinary cores, for operands of any types: tiles of A and B are
// converted on their way to shared memory. While a tile is used the next one is
// on its way, in registers.
#include "matmul.h"

const i32 depth = 16; // of a tile, along K

// Tile describes how 256 threads fetch an operand's tile of size × depth, four
// elements at a time along the direction in which they are contiguous.
template <i32 size> struct Tile {
    static constexpr i32 quads = size * depth / 4 / 256;
    float x[quads][4];
};

struct Operand {
    Array array;
    i64 base, stride; // the matrix's first element, and from one stored row to the next
    i64 from, to;     // of the direction that is not K: the tile's first, and the matrix's end
    bool along_k;     // elements are contiguous along K
};

template <i32 size> DEVICE void fetch(Tile<size> &t, const Operand &o, i64 k, i64 k_end) {
    for (i32 i = 0; i < t.quads; i++) {
        i32 q = thread_id() + i * 256;
        if (o.along_k) {
            i64 line = o.from + q / (depth / 4), at = k + q % (depth / 4) * 4;
            load4(t.x[i], o.array, o.base + line * o.stride + at, line < o.to ? (i32)(k_end - at < 4 ? k_end - at : 4) : 0);
        } else {
            i64 line = k + q / (size / 4), at = o.from + q % (size / 4) * 4;
            load4(t.x[i], o.array, o.base + line * o.stride + at, line < k_end ? (i32)(o.to - at < 4 ? o.to - at : 4) : 0);
        }
    }
}

// A row of shared memory has one k, and a pad against bank conflicts.
template <i32 size> struct alignas(16) Shelf {
    float x[depth][size + 4];
};

template <i32 size> DEVICE void put(Shelf<size> &s, const Tile<size> &t, bool along_k) {
    for (i32 i = 0; i < t.quads; i++) {
        i32 q = thread_id() + i * 256;
        for (i32 e = 0; e < 4; e++) {
            if (along_k) s.x[q % (depth / 4) * 4 + e][q / (depth / 4)] = t.x[i][e];
            else s.x[q / (size / 4)][q % (size / 4) * 4 + e] = t.x[i][e];
        }
    }
}

// multiply_tiles computes size × size of C: a thread has groups of 4 × 4, in as
// many places in both directions.
template <i32 size> DEVICE void multiply_tiles(const MatMulArgs &a) {
    constexpr i32 groups = size / 64;
    typedef Shelf<size> OneShelf;
    SHARED(OneShelf, shelf_a);
    SHARED(OneShelf, shelf_b);
    SHARED(Finish, end);
    Place p = place(a, size, size);
    begin_finish(end, a, p.c);
    const Operand left = {a.a, p.a, a.lda, p.row, a.m, !a.trans_a}, right = {a.b, p.b, a.ldb, p.col, a.n, (bool)a.trans_b};
    i32 row = thread_id() / 16 * 4, col = thread_id() % 16 * 4;
    float sum[groups * 4][groups * 4] = {};
    Tile<size> tile_a, tile_b;
    ROLLED for (i64 k = -depth; k < a.k; k += depth) {
        if (k >= 0) {
            put(shelf_a, tile_a, left.along_k);
            put(shelf_b, tile_b, right.along_k);
            barrier();
        }
        if (k + depth < a.k) {
            fetch(tile_a, left, k + depth, a.k);
            fetch(tile_b, right, k + depth, a.k);
        }
        if (k < 0) continue;
        UNROLLED for (i32 d = 0; d < depth; d++) {
            float x[groups * 4], y[groups * 4];
            UNROLLED for (i32 i = 0; i < groups * 4; i++) x[i] = shelf_a.x[d][i / 4 * 64 + row + i % 4];
            UNROLLED for (i32 i = 0; i < groups * 4; i++) y[i] = shelf_b.x[d][i / 4 * 64 + col + i % 4];
            UNROLLED for (i32 i = 0; i < groups * 4; i++) {
                UNROLLED for (i32 j = 0; j < groups * 4; j++) sum[i][j] = fused(x[i], y[j], sum[i][j]);
            }
        }
        barrier();
    }
    barrier(); // for end, where there was no loop
    UNROLLED for (i32 i = 0; i < groups * 4; i++) {
        UNROLLED for (i32 j = 0; j < groups; j++) {
            const float *x = sum[i] + j * 4;
            finish(end, p.row + i / 4 * 64 + row + i % 4, p.col + j * 64 + col, x[0], x[1], x[2], x[3]);
        }
    }
}

KERNEL(matmul, MatMulArgs, 256) { multiply_tiles<128>(a); }
KERNEL(matmul_small, MatMulArgs, 256) { multiply_tiles<64>(a); }
