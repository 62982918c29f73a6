// Flash attention on the tensor cores, for operands of one 16-bit type whose heads
// have up to 128 elements and rows that begin at multiples of 16 bytes. The
// comments of flash.cu hold here too; scores, probabilities and sums stay in
// registers, and probabilities become 16-bit numbers when they are multiplied
// again. Each of a block's four warps has one or two fragments of 16 rows; columns
// come in tiles, and one is used while the next arrives.
//
// A warp reads a fragment of columns once for all its rows, so two fragments of rows
// halve the reads of shared memory, which the products wait for. Heads of 128
// elements leave registers for one.
#pragma once
#include "attention.h"
#include "tensor.h"

const i32 flash_threads = 128;
const float log2_e = 1.44269504f;

// HeadRows is the rows of one head.
struct HeadRows {
    u16 *at;
    i64 stride;
    i32 rows, dim; // dim is a multiple of 8
};

DEVICE HeadRows rows_of(const AttentionArgs &a, const Heads &h, i64 head, i64 rows) {
    return {(u16 *)h.array.addr + head_of(h, a.heads, head), h.row_stride, (i32)rows, (i32)a.dim};
}

// fetch_tile starts the copy of a tile of rows from the first on. Rows behind the
// last one are 0.
template <i32 rows, i32 chunks> DEVICE void fetch_tile(const Chunks<chunks> &to, const HeadRows &h, i32 first) {
    constexpr i32 step = flash_threads / chunks; // rows that the block copies at a time
    const i32 row = thread_id() / chunks, chunk = thread_id() % chunks, left = h.rows - first - row;
    const u32 at = to.chunk(row, chunk), bytes = chunk * 8 < h.dim ? 16 : 0;
    const u16 *from = h.at + (first + row) * h.stride + chunk * 8;
    UNROLLED for (i32 i = 0; i < rows; i += step, from += step * h.stride) copy_async(at + i * chunks * 16, from, i < left ? bytes : 0);
}

// Scores is sums of a warp: rows · 16 by cols, eight columns in every part.
template <i32 rows, i32 cols> struct Scores {
    float x[rows][cols / 8][4];
};

// Words is Scores as 16-bit numbers: left operands of 16 columns each.
template <i32 rows, i32 cols> struct Words {
    u32 x[rows][cols / 16][4];
};

template <typename Kind, i32 rows, i32 cols> DEVICE Words<rows, cols> words_of(const Scores<rows, cols> &s) {
    Words<rows, cols> w;
    UNROLLED for (i32 m = 0; m < rows; m++) {
        UNROLLED for (i32 i = 0; i < cols / 4; i++) w.x[m][i / 4][i % 4] = Kind::pair(s.x[m][i / 2][i % 2 * 2], s.x[m][i / 2][i % 2 * 2 + 1]);
    }
    return w;
}

// multiply_fragments adds the products of a right operand's fragment, of 16 columns,
// to the sums of all rows.
template <typename Kind, i32 rows, i32 parts> DEVICE void multiply_fragments(float (*sum)[parts][4], i32 part, const u32 (*x)[4], const u32 y[4]) {
    UNROLLED for (i32 m = 0; m < rows; m++) {
        Kind::multiply(sum[m][part], x[m], y);
        Kind::multiply(sum[m][part + 1], x[m], y + 2);
    }
}

// add_product adds w · columns, from a row of columns on, to out.
template <typename Kind, i32 rows, i32 cols, i32 chunks> DEVICE void add_product(float (*out)[chunks][4], const Words<rows, cols> &w, const Chunks<chunks> &columns, i32 row) {
    UNROLLED for (i32 k = 0; k < cols / 16; k++) {
        u32 x[rows][4];
        UNROLLED for (i32 i = 0; i < rows * 4; i++) x[i / 4][i % 4] = w.x[i / 4][k][i % 4];
        UNROLLED for (i32 d = 0; d < chunks; d += 2) {
            u32 y[4];
            columns.right_transposed(y, row + k * 16, d);
            multiply_fragments<Kind, rows>(out, d, x, y);
        }
    }
}

// store_fragments writes 16 rows of sums to a head, from the chunk first_chunk on.
template <typename Kind, i32 count> DEVICE void store_fragments(const HeadRows &h, i32 first, const float (*out)[4], i32 first_chunk = 0) {
    const i32 lane = thread_id() % 32;
    UNROLLED for (i32 r = 0; r < 2; r++) {
        const i32 row = first + lane / 4 + r * 8;
        u32 *words = (u32 *)(h.at + row * h.stride + first_chunk * 8 + lane % 4 * 2);
        UNROLLED for (i32 d = 0; d < count; d++) {
            if (row < h.rows && (first_chunk + d) * 8 < h.dim) words[d * 4] = Kind::pair(out[d][r * 2], out[d][r * 2 + 1]);
        }
    }
}

DEVICE float over_four(float x, bool largest) {
    for (u32 mask = 1; mask < 4; mask *= 2) {
        float y = shuffled(x, mask);
        x = largest ? larger_fast(x, y) : x + y;
    }
    return x;
}

template <typename Kind, i32 dim, i32 mine, i32 cols> DEVICE void flash_tensor(const AttentionArgs &a) {
    constexpr i32 chunks = dim / 8, rows = 64 * mine;
    SHARED_BYTES(bytes);
    const u32 shelf = shared_address(bytes);
    const Chunks<chunks> queries = {shelf};
    auto columns = [&](i32 tile, i32 operand) { return Chunks<chunks>{shelf + (rows + (tile % 2 * 2 + operand) * cols) * dim * 2}; };
    const i32 blocks = ((i32)a.queries + rows - 1) / rows, head = block_x() / blocks;
    const i32 first = (blocks - 1 - block_x() % blocks) * rows; // the longest first
    const i32 seen = (i32)visible(a, first + rows < a.queries ? first + rows - 1 : a.queries - 1);
    const i32 all_see = (i32)visible(a, first);
    const HeadRows k = rows_of(a, a.k, head, a.keys), v = rows_of(a, a.v, head, a.keys);
    auto fetch = [&](i32 tile) {
        if (tile * cols < seen) {
            fetch_tile<cols>(columns(tile, 0), k, tile * cols);
            fetch_tile<cols>(columns(tile, 1), v, tile * cols);
        }
        copy_async_commit();
    };
    fetch_tile<rows>(queries, rows_of(a, a.q, head, a.queries), first);
    fetch(0);
    copy_async_wait<0>();
    barrier();
    const i32 lane = thread_id() % 32, warp_row = thread_id() / 32 * 16 * mine;
    // A negative scale is a positive one for −q.
    const float lowest = -math::infinity(0.0f), scale = (float)(a.scale < 0 ? -a.scale : a.scale) * log2_e;
    u32 q[chunks / 2][mine][4];
    UNROLLED for (i32 d = 0; d < chunks / 2; d++) {
        UNROLLED for (i32 m = 0; m < mine; m++) {
            queries.left(q[d][m], warp_row + m * 16, d * 2);
            UNROLLED for (i32 i = 0; i < 4; i++) q[d][m][i] ^= a.scale < 0 ? 0x80008000 : 0;
        }
    }
    const i32 query = first + warp_row + lane / 4; // and every eighth after it
    float out[mine][chunks][4] = {}, top[mine][2], total[mine][2];
    UNROLLED for (i32 i = 0; i < 2 * mine; i++) top[i / 2][i % 2] = lowest, total[i / 2][i % 2] = 0;
    ROLLED for (i32 tile = 0; tile * cols < seen; tile++) {
        copy_async_wait<0>();
        barrier();
        fetch(tile + 1);
        Scores<mine, cols> s = {};
        UNROLLED for (i32 n = 0; n < cols / 16; n++) {
            UNROLLED for (i32 d = 0; d < chunks / 2; d++) {
                u32 y[4];
                columns(tile, 0).right(y, n * 16, d * 2);
                multiply_fragments<Kind, mine>(s.x, 2 * n, q[d], y);
            }
        }
        if ((tile + 1) * cols > all_see) { // some query does not see all of the tile
            SELDOM;
            UNROLLED for (i32 r = 0; r < 2 * mine; r++) {
                const i32 here = (i32)visible(a, query + r * 8) - tile * cols - lane % 4 * 2; // columns that it sees, from this lane's first on
                UNROLLED for (i32 i = 0; i < cols / 4; i++) {
                    float &x = s.x[r / 2][i / 2][r % 2 * 2 + i % 2];
                    if (i / 2 * 8 + i % 2 >= here) x = lowest;
                }
            }
        }
        UNROLLED for (i32 r = 0; r < 2 * mine; r++) {
            float &above = top[r / 2][r % 2], &sum = total[r / 2][r % 2], larger = above;
            auto score = [&](i32 i) -> float & { return s.x[r / 2][i / 2][r % 2 * 2 + i % 2]; };
            UNROLLED for (i32 i = 0; i < cols / 4; i++) larger = larger_fast(larger, score(i));
            larger = over_four(larger, true);
            const float shift = larger == lowest ? 0 : larger * scale, shrink = exp2_fast(fused(above, scale, -shift));
            above = larger;
            sum *= shrink;
            UNROLLED for (i32 i = 0; i < cols / 4; i++) sum += score(i) = exp2_fast(fused(score(i), scale, -shift));
            UNROLLED for (i32 i = 0; i < chunks * 2; i++) out[r / 2][i / 2][r % 2 * 2 + i % 2] *= shrink;
        }
        add_product<Kind>(out, words_of<Kind>(s), columns(tile, 1), 0);
    }
    UNROLLED for (i32 r = 0; r < 2 * mine; r++) {
        float sum = over_four(total[r / 2][r % 2], false);
        if (lane % 4 == 0 && query + r * 8 < a.queries)
            element<float>(a.lse, head * a.queries + query + r * 8) = top[r / 2][r % 2] * (scale / log2_e) + math::log(sum);
        sum = sum == 0 ? 0 : 1 / sum; // a query that sees no key gets zeros
        UNROLLED for (i32 i = 0; i < chunks * 2; i++) out[r / 2][i / 2][r % 2 * 2 + i % 2] *= sum;
    }
    UNROLLED for (i32 m = 0; m < mine; m++) store_fragments<Kind, chunks>(rows_of(a, a.o, head, a.queries), first + warp_row + m * 16, out[m]);
}
