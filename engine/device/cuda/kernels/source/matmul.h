// Shared by all products of matrices: their argument, the places of matrices in a
// batch and of tiles in a matrix, and the storing of complete sums.
#pragma once
#include "functions.h"
#include "number.h"

// MatMulArgs: C = act(alpha·op(A)·op(B) + beta·C + bias), row-major, or, for slope,
// act'(pre)·(…). A batch has two levels, of which the inner one has inner matrices.
// sum_a gets the sums of op(A)'s rows, from kernels that have tensor cores and a
// transposed A.
struct MatMulArgs {
    Array c, a, b, bias, pre, sum_a;
    i64 m, n, k, lda, ldb, ldc;
    i64 first, inner; // first is the number of this launch's first matrix
    i64 outer_a, inner_a, outer_b, inner_b, outer_c, inner_c;
    double alpha, beta;
    i32 trans_a, trans_b, activation, slope; // activation is negative when there is none
};

// Place is the tile of C that a block computes, of one matrix of the batch.
struct Place {
    i64 a, b, c;  // the matrices' first elements
    i64 row, col; // the tile's first
};

// place goes through the tiles of eight rows of tiles column by column, so that
// blocks that run at the same time read the same tiles.
DEVICE Place place(const MatMulArgs &a, i32 tile_rows, i32 tile_cols) {
    const u32 group = 8;
    u32 rows = (u32)((a.m + tile_rows - 1) / tile_rows), cols = (u32)((a.n + tile_cols - 1) / tile_cols);
    u32 from = block_x() / (group * cols) * group, high = rows - from < group ? rows - from : group;
    u32 within = block_x() - from * cols;
    i64 matrix = a.first + block_z(), outer = matrix / a.inner, inner = matrix % a.inner;
    return {outer * a.outer_a + inner * a.inner_a, outer * a.outer_b + inner * a.inner_b, outer * a.outer_c + inner * a.inner_c,
            (i64)(from + within % high) * tile_rows, (i64)(within / high) * tile_cols};
}

// Finish is the arguments that finish needs. It is in shared memory.
struct Finish {
    Array c, bias, pre;
    i64 m, n, ldc, matrix; // matrix is C's first element
    double alpha, beta;
    i32 activation, slope;
};

DEVICE void begin_finish(Finish &f, const MatMulArgs &a, i64 matrix) {
    if (thread_id() == 0) f = {a.c, a.bias, a.pre, a.m, a.n, a.ldc, matrix, a.alpha, a.beta, a.activation, a.slope};
}

// finish stores four complete sums. What an activation or its slope is taken of is
// rounded first, as it is for one that reads it from memory.
OUTLINE void finish(const Finish &f, i64 row, i64 col, float x0, float x1, float x2, float x3) {
    i32 n = (i32)(f.n - col < 4 ? f.n - col : 4);
    if (row >= f.m || n <= 0) return;
    i64 at = f.matrix + row * f.ldc + col;
    float x[4] = {x0, x1, x2, x3}, more[4];
    for (i32 k = 0; k < 4; k++) x[k] *= (float)f.alpha;
    if (f.beta != 0) {
        load4(more, f.c, at, n);
        for (i32 k = 0; k < 4; k++) x[k] += (float)f.beta * more[k];
    }
    if (present(f.bias)) {
        load4(more, f.bias, col, n);
        for (i32 k = 0; k < 4; k++) x[k] += more[k];
    }
    if (f.slope) {
        load4(more, f.pre, at, n);
        UNROLLED for (i32 k = 0; k < 4; k++) x[k] = rounded(f.c.type, x[k]) * slope_of(f.activation, more[k]);
        store4(f.c, at, n, x);
        return;
    }
    if (present(f.pre)) {
        store4(f.pre, at, n, x);
        for (i32 k = 0; k < 4; k++) x[k] = rounded(f.pre.type, x[k]);
    }
    if (f.activation >= 0) {
        UNROLLED for (i32 k = 0; k < 4; k++) x[k] = activate(f.activation, x[k]);
    }
    store4(f.c, at, n, x);
}
